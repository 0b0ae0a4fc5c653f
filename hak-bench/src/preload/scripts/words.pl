# Lines of words, collected in hashes of lists.
use strict;
use warnings;

my (%lines_of, %next);
while (my $line = <>) {
    chomp $line;
    my ($number, @words) = split / /, $line;
    push @{$lines_of{$_}}, $number for @words;
    $next{"$words[$_] $words[$_ + 1]"} .= "$number," for 0 .. $#words - 1;
    $line =~ s/(\w+)/ucfirst $1/ge;
    print "$line\n" if $number % 1000 == 0;
}
for my $word (sort { @{$lines_of{$b}} <=> @{$lines_of{$a}} || $a cmp $b } keys %lines_of) {
    my $lines = join ",", sort { $a <=> $b } @{$lines_of{$word}};
    print "$word ", length $lines, "\n";
}
my $long = 0;
length $next{$_} > 40 and $long++ for keys %next;
print scalar(keys %next), " $long\n";
