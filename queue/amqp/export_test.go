package amqp

// AtOnce has Declare return as soon as the server answers, for tests that do not
// ask what outlives the server.
func (b *Broker) AtOnce() *Broker {
	b.registered = 0
	return b
}
