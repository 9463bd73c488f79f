// Package codec is how messages of any Go type cross the libraries of gRPC,
// which know Protocol Buffers by themselves and of other encodings only that
// there may be some. It knows neither the libraries nor an encoding: a binding
// gives the [Form] of each type, a wire hands [Message] to its library and
// takes it back, and the wire's codec, which is one for all types, calls it.
//
// The libraries turn what a codec says into errors of their own, Internal in one and with another text in each.
// So a message keeps the error instead, and anyone who takes the value out gets it as it was.
package codec

import (
	"context"
	"errors"

	"wirelab/wire/panics"
	"wirelab/wire/status"
)

// Form turns values of T into bytes and back. Its errors are wirelab errors.
type Form[T any] struct {
	// Append appends the message of a value to dst, which the error leaves as it was.
	Append func(dst []byte, v *T) ([]byte, error)
	// Decode reads a message, of which it keeps no part.
	Decode func(message []byte) (T, error)
}

// Carrier is a [Message] of any type, as codecs meet it.
type Carrier interface {
	// Append appends the value's bytes to dst.
	Append(dst []byte) ([]byte, error)
	// Take reads the value from its bytes. An error waits in the message.
	Take(message []byte)
}

// Message is a value on its way. Its zero value waits for one; see [Message.As].
type Message[T any] struct {
	value T
	form  *Form[T]
	err   error
	taken bool
}

var _ Carrier = (*Message[int])(nil)

// Of returns the message of a value.
func (f *Form[T]) Of(v T) *Message[T] { return &Message[T]{value: v, form: f} }

// Empty returns a message that waits for its bytes.
func (f *Form[T]) Empty() *Message[T] { return &Message[T]{form: f} }

// As gives a message that a library made the form of its type.
func (m *Message[T]) As(f *Form[T]) *Message[T] {
	m.form = f
	return m
}

// Append implements [Carrier]. A form that panics has failed: libraries call
// this where nothing else would hold the panic.
func (m *Message[T]) Append(dst []byte) (message []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			m.err = panics.Error(context.Background(), p)
			message, err = dst, m.err
		}
	}()
	if message, m.err = m.form.Append(dst, &m.value); m.err != nil {
		return message, status.Public(m.err) // whatever is not, libraries would tell the peer
	}
	return message, nil
}

// Take implements [Carrier]. As with Append, a form that panics has failed.
func (m *Message[T]) Take(message []byte) {
	defer func() {
		if p := recover(); p != nil {
			m.err = panics.Error(context.Background(), p)
		}
	}()
	m.taken = true
	m.value, m.err = m.form.Decode(message)
}

// Sent returns why the value could not be written, nil if it could, or if no one tried.
func (m *Message[T]) Sent() error { return m.err }

// Request returns the value that was received as a request, or why there is
// none: the caller's mistake. A library that takes an empty message for a zero
// value does not ask the codec, and so the form is asked here: some encodings
// have empty messages.
func (m *Message[T]) Request() (T, error) {
	if !m.taken && m.form != nil {
		m.Take(nil)
	}
	if !m.taken {
		return m.value, status.Errorf(status.InvalidArgument, "the message is empty")
	}
	return m.value, m.err
}

// Reply returns the value that was received as a reply, or why there is none:
// the server's fault, and so Internal.
func (m *Message[T]) Reply() (T, error) {
	v, err := m.Request()
	if err == nil {
		return v, nil
	}
	var coded *status.Error
	if !errors.As(err, &coded) {
		coded = status.Public(err)
	}
	return v, status.Errorf(status.Internal, "the reply cannot be read: %s", coded.Message)
}

// Read returns what a stub has read of a reply that arrived. One that cannot be
// read is the server's fault, whatever the code its reader gave it.
func Read[T any](v T, err error) (T, error) {
	if err != nil {
		var none T
		return none, status.Errorf(status.Internal, "the reply cannot be read: %v", err)
	}
	return v, nil
}

// Ours returns own if it is a wirelab error, else otherwise: what a form says of its message goes before what a
// library, which knows no more, makes of it.
func Ours(own, otherwise error) error {
	var coded *status.Error
	if errors.As(own, &coded) {
		return coded
	}
	return otherwise
}
