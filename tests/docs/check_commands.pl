#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Usage: check_commands.pl SOURCE PROGRAM FILE.md...
#
# Fails unless every `saccade COMMAND --option` of the guides, in a code block or in a line of prose, is one that the program's
# --help knows, and unless docs/which-kernel.md has a row for every kernel of attention.
use strict;
use warnings;

my ($source, $program, @pages) = @ARGV;
my %help;
my ($commands, $failures) = (0, 0);

sub help_of {
  my ($command) = @_;
  $help{$command} //= qx('$program' $command --help 2>&1);
  return $help{$command};
}

my ($names) = help_of('') =~ /(?:Subcommands|SUBCOMMANDS):\n(.*)/s or die "$program --help lists no sub-commands\n";
my %known = map { $_ => 1 } $names =~ /^  (\w+) /gm;

for my $page (@pages) {
  open my $in, '<', "$source/$page" or die "$page: $!\n";
  while (my $line = <$in>) {
    # A command begins a line of a block or a span of code.
    while ($line =~ m{(?:^(?:    )?(?:\$ )?|`)(?:[A-Z_]+=\S+ )*(?:\S+/)?saccade ([a-z]+)\b([^`]*)}g) {
      my ($command, $arguments) = ($1, $2);
      next unless $known{$command} || $arguments =~ /^ --/;
      $commands++;
      $arguments =~ s/  .*//;
      for my $option ($arguments =~ /(?<!\S)\[?(--[a-z][a-z-]*)/g) {
        next if $known{$command} && help_of($command) =~ /(?<![\w-])\Q$option\E(?![\w-])/;
        print "FAILED: $page:$. shows `saccade $command $option`, which `saccade $command --help` does not know\n";
        $failures++;
      }
    }
  }
}
# docs/features.md is made from the registry, so its head has every kernel.
open my $features, '<', "$source/docs/features.md" or die "docs/features.md: $!\n";
my ($head) = join('', <$features>) =~ /^\| \|(.*)\|$/m or die "docs/features.md has no table\n";
open my $choice, '<', "$source/docs/which-kernel.md" or die "docs/which-kernel.md: $!\n";
my $explained = join '', <$choice>;
for my $kernel ($head =~ /(\w+)/g) {
  next if $explained =~ /^\| `$kernel` \|/m;
  print "FAILED: docs/which-kernel.md has no row for the kernel $kernel\n";
  $failures++;
}
print "$commands commands, $failures failures\n";
exit($failures || $commands < 10 ? 1 : 0);
