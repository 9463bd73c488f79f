package jetstream

import "github.com/nats-io/nats.go"

// ToCome and OfServer are for who tries headers.
func ToCome(m *nats.Msg, asked int) int { return toCome(m, asked) }
func OfServer(m *nats.Msg) bool         { return ofServer(m) }

// Subscriptions returns how many subscriptions the connection has.
func (b *Broker) Subscriptions() int { return b.conn.NumSubscriptions() }
