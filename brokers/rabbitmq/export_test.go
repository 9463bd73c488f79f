package rabbitmq

// Hurry has topics made without the wait that lets a server write them down, for
// tests that kill none.
func (b *Broker) Hurry() { b.rest = 0 }
