# SPDX-License-Identifier: MIT
# agent.pl: runs programs in a container for differ.py, one after the other, without what a new
# exec of the engine costs each time. A request is a list of texts: seconds, stdin, the number of
# variables, these, the arguments. The reply is one, too: status, stdout, stderr. A list is
# its length and each text with its own, 32 bits in network order.
use strict;
use warnings;
use IO::Select;

binmode $_ for *STDIN, *STDOUT;
$SIG{PIPE} = 'IGNORE';

sub take {
  my ($n, $text) = (shift, '');
  while (length $text < $n) {
    sysread(STDIN, $text, $n - length $text, length $text) or exit 0;
  }
  return $text;
}

sub take_list { map { take(unpack 'N', take(4)) } 1 .. unpack 'N', take(4) }

sub give_list {
  my $all = pack('N', scalar @_) . join '', map { pack('N', length) . $_ } @_;
  my $done = 0;
  $done += syswrite(STDOUT, $all, length($all) - $done, $done) // exit 1 while $done < length $all;
}

# A child with its three streams, and a second one that writes what the first is to read.
sub start {
  my ($input, $vars, $args) = @_;
  pipe my $in, my $to;
  pipe my $out, my $from_out;
  pipe my $err, my $from_err;
  my $child = fork;
  if (!$child) {
    %ENV = map { split /=/, $_, 2 } @$vars;
    open STDIN, '<&', $in;
    open STDOUT, '>&', $from_out;
    open STDERR, '>&', $from_err;
    close $_ for $in, $to, $out, $from_out, $err, $from_err;
    exec { $args->[0] } @$args or exit 127;
  }
  my $writer = fork;
  if (!$writer) {
    close $_ for $in, $out, $from_out, $err, $from_err;
    my $done = 0;
    while ($done < length $input) { $done += syswrite($to, $input, 65536, $done) // last }
    exit 0;
  }
  close $_ for $in, $to, $from_out, $from_err;
  return ($child, $writer, $out, $err);
}

# Reads both streams until they end; of what outlives the child, only what comes at once.
sub follow {
  my ($child, $out, $err, $end) = @_;
  my %text = ($out => '', $err => '');
  my $streams = IO::Select->new($out, $err);
  my $status;
  while ($streams->count) {
    for my $from ($streams->can_read(defined $status ? 0.2 : 0.05)) {
      sysread($from, $text{$from}, 65536, length $text{$from}) or $streams->remove($from);
    }
    if (!defined $status && waitpid($child, 1) == $child) { $status = $? }
    elsif (defined $status && !$streams->can_read(0.2)) { last }
    if (!defined $status && time > $end) { kill 'KILL', $child }
  }
  if (!defined $status) { waitpid $child, 0; $status = $? }
  return ($status & 127 ? -($status & 127) : $status >> 8, $text{$out}, $text{$err});
}

while (1) {
  my ($seconds, $input, $count, @rest) = take_list();
  my @vars = splice @rest, 0, $count;
  my ($child, $writer, $out, $err) = start($input, \@vars, \@rest);
  my @reply = follow($child, $out, $err, time + $seconds);
  kill 'KILL', $writer;
  waitpid $writer, 0;
  give_list(@reply);
}
