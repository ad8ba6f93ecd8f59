#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Usage: check_links.pl SOURCE FILE.md...
#
# Fails unless every relative link of these pages points to a file that is there and, where it has an anchor, to a heading of
# it; and unless README.md leads to every page of docs/.
use strict;
use warnings;
use File::Basename;

my ($source, @pages) = @ARGV;
my $failures = 0;
my $links = 0;
my %linked_from_readme;

# The page without its code blocks, which may hold anything.
sub prose_of {
  my ($path) = @_;
  open my $in, '<', "$source/$path" or die "$path: $!\n";
  local $/;
  my $text = <$in>;
  $text =~ s/^```.*?^```//gms;
  $text =~ s/^    .*$//gm;
  return $text;
}

# The anchors that GitHub gives to headings.
sub anchors_of {
  my ($path) = @_;
  my %anchors;
  my $text = prose_of($path);
  while ($text =~ /^#+ +(.*?) *$/gm) {
    my $anchor = lc $1;
    $anchor =~ s/[^a-z0-9_ -]//g;
    $anchor =~ tr/ /-/;
    $anchors{$anchor} = 1;
  }
  return %anchors;
}

sub normalised {
  my ($path) = @_;
  $path =~ s{(^|/)\./}{$1}g;
  1 while $path =~ s{(^|/)(?!\.\.)[^/]+/\.\./}{$1};
  return $path;
}

for my $page (@pages) {
  my $folder = dirname($page);
  my $text = prose_of($page);
  $text =~ s/`[^`\n]*`//g;
  while ($text =~ /\]\(([^)\s]+)\)/g) {
    my $link = $1;
    next if $link =~ /^[a-z]+:/;
    $links++;
    my ($file, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
    my $target = $file eq '' ? $page : normalised($folder eq '.' ? $file : "$folder/$file");
    $linked_from_readme{$target} = 1 if $page eq 'README.md';
    if (!-e "$source/$target") {
      print "FAILED: $page links to $link, but there is no $target\n";
      $failures++;
    } elsif (defined $anchor) {
      my %anchors = anchors_of($target);
      next if $anchors{$anchor};
      print "FAILED: $page links to $link, but $target has no such heading\n";
      $failures++;
    }
  }
}
for my $page (grep { m{^docs/[^/]+\.md$} } @pages) {
  next if $linked_from_readme{$page};
  print "FAILED: README.md does not lead to $page\n";
  $failures++;
}
print "$links links, $failures failures\n";
exit($failures || !$links ? 1 : 0);
