#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Usage: page_filter.pl SOURCE FILE.md
#
# What Doxygen reads in place of a guide. Links between guides are for readers of the source tree; here they become links between
# pages, with names that do not depend on Doxygen's version. What is no page loses its link and keeps its text.
use strict;
use warnings;

my ($source, $file) = @ARGV;
$file =~ s{^\Q$source\E/}{};
my ($folder) = $file =~ m{^(.*)/};
$folder //= '';

# The name of a page: that of its file, of README.md that of its folder.
sub page_of {
  my ($path) = @_;
  return 'index' if $path eq 'README.md';
  $path =~ s{^docs/}{};
  $path =~ s{(/README)?\.md$}{};
  $path =~ s/[^A-Za-z0-9-]/_/g;
  return "guide_$path";
}

sub resolved {
  my ($path) = @_;
  $path = "$folder/$path" if $folder ne '';
  1 while $path =~ s{(^|/)(?!\.\.)[^/]+/\.\./}{$1};
  return $path;
}

sub link_to {
  my ($image, $text, $target) = @_;
  return "$image\[$text]($target)" if $target =~ /^[a-z]+:/ || $target =~ /^#/;
  my ($path, $anchor) = $target =~ /^([^#]*)(#.*)?$/;
  $path = resolved($path);
  return "![$text](" . ($path =~ m{([^/]+)$})[0] . ')' if $image;
  return "[$text](" . page_of($path) . '.html' . ($anchor // '') . ')' if $path =~ /\.md$/;
  return "[$text]($1_8$2.html)" if $path =~ m{^include/saccade/(\w+)\.(h|hpp)$};
  return $text;
}

open my $in, '<', "$source/$file" or die "$file: $!\n";
my $text = join '', <$in>;
$text =~ s/^# (.*)$/'# ' . $1 . ' {#' . page_of($file) . '}'/me unless $file eq 'README.md';
# Code, by fences or by four spaces, stays as it is; a link may go on in the next line.
for my $part (split /(^```.*?^```$|^    [^\n]*$)/ms, $text) {
  $part =~ s/(!?)\[([^][]*)\]\(([^)\s]+)\)/link_to($1, $2, $3)/ge unless $part =~ /^(?:```|    )/;
  print $part;
}
