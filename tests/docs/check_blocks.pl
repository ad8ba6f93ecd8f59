#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Usage: check_blocks.pl SOURCE WORK CC CXX CMAKE GLSLANG VULKAN_INCLUDE FILE...
#
# Compiles every code block of the guides, so that none shows what the headers no longer have. A block in c, cpp or
# cmake has a comment on the line above it that names its wrapper:
#
#   <!-- block: host -->
#   ```c
#
# takes wrappers/host.c, in which the block replaces the line BLOCK. Blocks in c and cpp are compiled without output,
# those in cmake are configured as a project that finds an installed Saccade, those in glsl are kernels, and
# those in sh are parsed. Blocks in the comments of headers take the wrapper of the header's name. text and json are left alone; any other language is refused, as is a block without a wrapper. Errors
# name the guide and its line.
use strict;
use warnings;
use File::Basename;
use File::Path qw(make_path remove_tree);
use File::Spec;

my ($source, $work, $cc, $cxx, $cmake, $glslang, $vulkan, @guides) = @ARGV;
my $wrappers = File::Spec->rel2abs(dirname(__FILE__)) . '/wrappers';
my @failures;
my @jobs;  # [what, command...], run at once
my %count = map { $_ => 0 } qw(c cpp cmake glsl sh);

sub read_file {
  my ($path) = @_;
  open my $in, '<', $path or die "$path: $!\n";
  local $/;
  return <$in>;
}

sub write_file {
  my ($path, $text) = @_;
  make_path(dirname($path));
  open my $out, '>', $path or die "$path: $!\n";
  print $out $text;
}

# The same of the blocks in the comments of a header, between "~~~{.cpp}" and "~~~". Their wrapper has the header's name.
sub blocks_of_header {
  my ($path) = @_;
  my ($wrapper) = basename($path) =~ /^(\w+)/;
  my @lines = split /\n/, read_file($path), -1;
  my @blocks;
  for (my $i = 0; $i < @lines; $i++) {
    my ($language) = $lines[$i] =~ m{^/// ~~~\{\.(\w+)\}} or next;
    my $first = ++$i;
    $i++ while $i < @lines && $lines[$i] ne '/// ~~~';
    push @blocks, [$first + 1, $language, $wrapper, join('', map { substr($_, 4) . "\n" } @lines[$first .. $i - 1])];
  }
  return @blocks;
}

# Returns [line of the first code line, language, wrapper, code] for each block of a guide.
sub blocks_of {
  my ($path) = @_;
  my @lines = split /\n/, read_file($path), -1;
  my @blocks;
  for (my $i = 0; $i < @lines; $i++) {
    next unless $lines[$i] =~ /^```(.*)$/;
    my ($language, $first) = ($1, $i + 1);
    my ($wrapper) = $i > 0 ? $lines[$i - 1] =~ /^<!-- block: (\w+) -->$/ : ();
    $i++ while $i + 1 < @lines && $lines[$i + 1] !~ /^```/;
    $i++;
    push @blocks, [$first + 1, $language, $wrapper, join("\n", @lines[$first .. $i - 1]) . "\n"];
  }
  return @blocks;
}

sub add_block {
  my ($guide, $line, $language, $wrapper, $code) = @_;
  my $where = "$guide:$line";
  return if $language eq 'text' || $language eq 'json';
  if (!exists $count{$language}) {
    push @failures, "$where: a block of language '$language'; c, cpp, cmake, glsl, sh, text and json are known\n";
    return;
  }
  $count{$language}++;
  (my $name = "$guide-$line") =~ s/[^A-Za-z0-9]+/_/g;
  if ($language eq 'sh') {
    write_file("$work/$name.sh", $code);
    push @jobs, [$where, 'bash', '-n', "$work/$name.sh"];
    return;
  }
  if ($language eq 'glsl') {
    write_file("$work/$name.comp", $code);
    for my $defines ([qw(-DDTYPE=0 -DNATIVE=0)], [qw(-DDTYPE=1 -DNATIVE=1)]) {
      push @jobs, ["$where @$defines", $glslang, qw(-V --quiet --target-env vulkan1.2), @$defines, "-I$source/shaders/include", '-o', "$work/$name.spv",
                   "$work/$name.comp"];
    }
    return;
  }
  if (!defined $wrapper || !-e "$wrappers/$wrapper.$language") {
    push @failures, "$where: a block in $language needs a line '<!-- block: WRAPPER -->' above it, where "
      . "tests/docs/wrappers/WRAPPER.$language exists\n";
    return;
  }
  my $text = read_file("$wrappers/$wrapper.$language");
  my $start = $language eq 'cmake' ? '' : "#line $line \"$source/$guide\"\n";
  $text =~ s/^BLOCK\n/$start$code/m or die "$wrapper.$language has no line BLOCK\n";
  if ($language eq 'cmake') {
    write_file("$work/$name/CMakeLists.txt", $text);
    push @jobs, [$where, $cmake, '-S', "$work/$name", '-B', "$work/$name/build", "-DCMAKE_CXX_COMPILER=$cxx",
                 '-DCMAKE_CXX_COMPILER_FORCED=ON', "-DCMAKE_PREFIX_PATH=$wrappers/installed"];
    return;
  }
  write_file("$work/$name.$language", $text);
  my @compiler = $language eq 'c' ? ($cc, '-std=c11') : ($cxx, '-std=c++20');
  # A fragment may leave to the reader what it declares.
  push @jobs, [$where, @compiler, qw(-fsyntax-only -Wall -Wextra -Wpedantic -Werror -Wno-unused), "-I$source/include", "-I$vulkan",
               "-I$wrappers", "$work/$name.$language"];
}

# Runs the jobs, two at once, and adds what those say that fail.
sub run_jobs {
  my $at_once = 2;
  my %running;  # process -> [where, file with its output]
  while (@jobs || %running) {
    while (@jobs && keys %running < $at_once) {
      my ($where, @command) = @{shift @jobs};
      (my $log = "$work/$where.log") =~ s/[ :]/_/g;
      make_path(dirname($log));
      my $process = fork // die "fork: $!\n";
      if ($process == 0) {
        open STDOUT, '>', $log or die "$log: $!\n";
        open STDERR, '>&', \*STDOUT;
        exec @command or die "$command[0]: $!\n";
      }
      $running{$process} = [$where, $log];
    }
    my $ended = wait;
    my $failed = $? != 0;
    my ($where, $log) = @{delete $running{$ended}};
    push @failures, "$where:\n" . read_file($log) if $failed;
  }
}

remove_tree($work);
for my $guide (@guides) {
  add_block($guide, @$_) for $guide =~ /\.md$/ ? blocks_of("$source/$guide") : blocks_of_header("$source/$guide");
}
run_jobs();
print "$count{c} blocks in c, $count{cpp} in cpp, $count{cmake} in cmake, $count{glsl} in glsl, $count{sh} in sh\n";
print "FAILED: $_" for @failures;
exit(@failures || !$count{c} ? 1 : 0);
