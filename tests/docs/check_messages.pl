#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Usage: check_messages.pl SOURCE [--list]
#
# Fails unless docs/troubleshooting.md has every sentence with which the library refuses something or warns, and no sentence
# that the library does not have; unless it names every field that a refusal may; and unless the fields that saccade.h calls
# checked are such. All are taken from the calls that do so, wherever
# they stand in runtime/; what is filled in becomes an ellipsis. --list prints the sentences by file.
use strict;
use warnings;
use File::Basename;

my ($source, $list) = @ARGV;
my $page = 'docs/troubleshooting.md';
my @folders = qw(api attention device kernels ops plan standalone tune);
# Functions whose arguments hold a sentence, their own definitions apart.
my $refusing = qr/\b(?:refuse|refuseUnsupported|refuseToReplace|ignore|Refusal|Error|writeMessage)\s*\(|\bwrite\((?=SACCADE_SEVERITY_(?:WARNING|ERROR))/;

# Functions that refuse a field whose name they are given.
my $naming = qr/\b(?:check\w+|require\w+|exclude|later|slot|integers|addSlot|broadcastTo)\s*\(|\bslots\.push_back\(/;

sub read_file {
  my ($path) = @_;
  open my $in, '<', $path or die "$path: $!\n";
  local $/;
  return <$in>;
}

# The text of a string literal as people see it, with an ellipsis for each value.
sub plain {
  my ($literal) = @_;
  $literal =~ s/\\n/ /g;
  $literal =~ s/\\(.)/$1/g;
  $literal =~ s/\{\{|\}\}/{}/g;
  $literal =~ s/\{[^{}]*\}/…/g;
  $literal =~ s/^\s+|\s+$//g;
  return $literal;
}

# String literals between an opening parenthesis and the one that closes it, adjacent ones joined.
sub literals_of_call {
  my ($text, $position) = @_;
  my ($depth, $open, @literals) = (1, 0);
  pos($text) = $position;
  while ($depth > 0) {
    if ($text =~ /\G"((?:[^"\\]|\\.)*)"/gc) {
      if ($open) { $literals[-1] .= $1 } else { push @literals, $1 }
      $open = 1;
    } elsif ($text =~ /\G\s+/gc) {
      next;
    } elsif ($text =~ /\G'(?:[^'\\]|\\.)*'/gc) {
      $open = 0;
    } elsif ($text =~ /\G(.)/gcs) {
      $open = 0;
      $depth++ if $1 eq '(';
      $depth-- if $1 eq ')';
    } else {
      last;
    }
  }
  return @literals;
}

my (%sentences, %fields);  # each -> file
for my $folder (@folders) {
  for my $path (sort glob "$source/runtime/$folder/*.cpp $source/runtime/$folder/*.hpp") {
    my $text = read_file($path);
    $text =~ s{//[^\n"]*$}{}gm;
    while ($text =~ /$refusing|$naming/g) {
      my @literals = literals_of_call($text, pos $text);
      # Functions are named to say which call failed.
      my ($field) = grep { !/^(?:saccade|vk)[A-Z]/ && /^[a-z][A-Za-z]*(_[a-z]+)*$/ } @literals;
      $fields{$field} //= "runtime/$folder/" . basename($path) if defined $field && $folder ne 'standalone';
    }
    while ($text =~ /$refusing/g) {
      for my $literal (literals_of_call($text, pos $text)) {
        # Names of fields have no spaces, and clauses that only go into a sentence are short.
        my $sentence = plain($literal);
        $sentences{$sentence} //= "runtime/$folder/" . basename($path) if $sentence =~ /\w \w/ && $sentence =~ tr/ // >= 2;
      }
    }
  }
}

if ($list) {
  print "$sentences{$_}\t$_\n" for sort { $sentences{$a} cmp $sentences{$b} or $a cmp $b } keys %sentences;
  exit 0;
}

my $text = read_file("$source/$page");
my $failures = 0;
for my $sentence (sort keys %sentences) {
  next if index($text, "`$sentence`") >= 0;
  print "FAILED: $page does not have `$sentence` of $sentences{$sentence}: say what it means and what to do\n";
  $failures++;
}
for my $field (sort keys %fields) {
  next if $text =~ /`(?:[^`]* )?\Q$field\E\b/;
  print "FAILED: $page does not name the field $field of $fields{$field}\n";
  $failures++;
}
# A row of a table begins with the sentence.
while ($text =~ /^\| `([^`]*[a-z][^`]*)` \|/gm) {
  next if exists $sentences{$1};
  print "FAILED: $page explains `$1`, which the library does not say\n";
  $failures++;
}
# Valid usage that is checked ends with the fields in brackets.
my $header = read_file("$source/include/saccade/saccade.h");
my $checked = 0;
while ($header =~ /\\par Valid usage\n(.*?)(?:\*\/|\\par)/gs) {
  my $list = $1;
  while ($list =~ /\[([^\]]+)\]/g) {
    for my $field (grep { /^[a-z]\w*(?:\.[a-z]+)?$/ } split /,\s*(?:\*\s*)?/, $1) {
      $checked++;
      my ($name) = $field =~ /^(\w+)/;
      next if exists $fields{$name};
      print "FAILED: saccade.h says that $field is checked, but nothing refuses it\n";
      $failures++;
    }
  }
}
print "$checked fields of valid usage, ", scalar(keys %sentences), " sentences, ", scalar(keys %fields), " fields, $failures failures\n";
exit($failures || keys %sentences < 50 || $checked < 50 ? 1 : 0);
