#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Usage: check_reference.pl DOXYGEN DOXYFILE HTML
#
# Builds the reference of the headers with the guides as its pages. Fails if Doxygen has a warning, or if a link or a picture of
# a guide leads nowhere.
use strict;
use warnings;
use File::Path qw(remove_tree);

my ($doxygen, $doxyfile, $folder) = @ARGV;
remove_tree($folder);
system($doxygen, $doxyfile) == 0 or die "doxygen failed\n";
chdir $folder or die "$folder: $!\n";

my (%text, %ids);
for my $page (glob '*.html') {
  open my $in, '<', $page or die "$page: $!\n";
  local $/;
  $text{$page} = <$in>;
  $ids{$page}{$1} = 1 while $text{$page} =~ /\b(?:id|name)="([^"]+)"/g;
}
my ($links, $failures) = (0, 0);
for my $page (sort grep { /^(?:guide_|index)/ } keys %text) {
  while ($text{$page} =~ /\b(?:href|src)="([^"]+)"/g) {
    my $link = $1;
    next if $link =~ /^(?:[a-z]+:|#$)/;
    $links++;
    my ($target, $anchor) = $link =~ /^([^#]*)(?:#(.*))?$/;
    $target = $page if $target eq '';
    next if -e $target && (!defined $anchor || $ids{$target}{$anchor});
    print "FAILED: $page links to $link, which is not there\n";
    $failures++;
  }
}
print "$links links of guides, $failures failures\n";
exit($failures || !$links ? 1 : 0);
