# SPDX-License-Identifier: MIT
# agent.pl: runs programs in a container for differ.py, one after the other, without what a new
# exec of the engine costs each time. A request is a list of texts: seconds, forker, stdin, the number
# of variables, these, the arguments. The reply is one, too: status, stdout, stderr. A list is
# its length and each text with its own, 32 bits in network order.
# With a forker (forker.c), the program is not started: the one that was at the first such request forks.
use strict;
use warnings;
use Fcntl;
use IO::Handle;
use IO::Select;
use POSIX ();

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

# A child that writes what the program is to read.
sub feed {
  my ($input, $to, @others) = @_;
  my $writer = fork;
  return $writer if $writer;
  close $_ for @others;
  $to = $to->() if ref $to eq 'CODE';
  my $done = 0;
  while ($done < length $input) { $done += syswrite($to, $input, 65536, $done) // last }
  POSIX::_exit(0);
}

# A child with its three streams; a second one that writes what the first is to read; and what
# tells the status of the first, or nothing as long as it has none, for which it can wait.
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
  my $writer = feed($input, $to, $in, $out, $err, $from_err, $from_out);
  close $_ for $in, $to, $from_out, $from_err;
  my $status = sub { waitpid($child, $_[0] ? 0 : POSIX::WNOHANG()) == $child ? $? : undef };
  return ($child, $writer, $out, $err, $status);
}

my ($requests, $answers, $name);
my $number = 0;

sub start_forker {
  my ($forker, $vars, $args) = @_;
  $name = "/dev/shm/forker.$$";
  pipe(my $in, $requests);
  pipe $answers, my $out;
  $requests->autoflush(1);
  if (!fork) {
    %ENV = (LD_PRELOAD => $forker, map { split /=/, $_, 2 } @$vars);
    open STDIN, '<&', $in;
    open STDOUT, '>&', $out;
    open STDERR, '>', '/dev/null';
    close $_ for $in, $out, $requests, $answers;
    exec { $args->[0] } @$args or exit 127;
  }
  close $_ for $in, $out;
}

sub answer { scalar readline($answers) // die "the forker has ended" }

sub open_stream {
  sysopen(my $stream, $_[0], O_RDONLY | O_NONBLOCK) or die "$_[0]: $!";
  return $stream;
}

sub start_forked {
  my ($input, $vars, $args, $forker) = @_;
  start_forker($forker, $vars, $args) if !$requests;
  my $base = $name . '-' . $number++;
  my ($in, @streams) = map { POSIX::mkfifo("$base.$_", 0600) or die; "$base.$_" } 0 .. 2;
  @streams = map { open_stream($_) } @streams;
  print $requests join(' ', $base, map { unpack 'H*', $_ } @$vars), "\n";
  my $child = 0 + answer();
  my $writer = feed($input, sub { open(my $to, '>', $in) or POSIX::_exit(1); $to }, @streams);
  my $answered = IO::Select->new($answers);
  my $status = sub { $_[0] || $answered->can_read(0) ? 0 + answer() : undef };
  return ($child, $writer, @streams, $status);
}

# Reads both streams until they end; of what outlives the child, only what comes at once.
sub follow {
  my ($child, $out, $err, $has_ended, $end) = @_;
  my %text = ($out => '', $err => '');
  my $streams = IO::Select->new($out, $err);
  my $status;
  while ($streams->count) {
    for my $from ($streams->can_read(defined $status ? 0.2 : 0.05)) {
      sysread($from, $text{$from}, 65536, length $text{$from}) or $streams->remove($from);
    }
    if (!defined $status) { $status = $has_ended->(0) }
    elsif (!$streams->can_read(0.2)) { last }
    if (!defined $status && time > $end) { kill 'KILL', $child }
  }
  $status //= $has_ended->(1);
  return ($status & 127 ? -($status & 127) : $status >> 8, $text{$out}, $text{$err});
}

while (1) {
  my ($seconds, $forker, $input, $count, @rest) = take_list();
  my @vars = splice @rest, 0, $count;
  my ($child, $writer, @streams) = ($forker ? \&start_forked : \&start)->($input, \@vars, \@rest, $forker);
  my @reply = follow($child, @streams, time + $seconds);
  kill 'KILL', $writer;
  waitpid $writer, 0;
  unlink map { "$name-" . ($number - 1) . ".$_" } 0 .. 2 if $forker;
  give_list(@reply);
}
