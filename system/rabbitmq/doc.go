// Package rabbitmq holds a RabbitMQ of our own as a child process: a single node that listens on 127.0.0.1,
// knows no other node and needs no other daemon, with its own directory, ports and secrets. It knows processes,
// addresses and settings; the messages through the broker it does not know, nor who sends. Whatever is no
// RabbitMQ's own, such as locks and users, is package daemon's.
//
// Erlang's nodes find each other by a daemon, epmd, that the first of them starts and that outlives them all. A
// node alone needs none: this one is given its port and that it shall start no daemon, so nothing is left
// behind.
//
// The server dies with who started it, whatever ended that, and with it all it holds; a directory that both
// left behind is removed by the next start. Killed and started again in the meantime, by the same address, it
// has what it had confirmed. Its one user, with a password made for it, may do everything; plugins, management
// among them, are off.
package rabbitmq
