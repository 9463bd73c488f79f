package rabbitmq

import (
	"math"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// header returns a header value of each type that the library decodes.
func header(kind uint8, number int64, text string) any {
	kinds := []any{
		nil,
		number,
		int32(number),
		int16(number),
		int8(number),
		byte(number),
		uint32(number),
		uint16(number),
		number&1 == 0,
		text,
		[]byte(text),
		float32(number),
		math.Float64frombits(uint64(number)),
		amqp.Decimal{Scale: byte(number), Value: int32(number)},
		amqp.Table{text: number},
		[]any{number, text, amqp.Table{"count": text}},
	}
	return kinds[int(kind)%len(kinds)]
}

// FuzzHeaders checks that, whatever other publishers write into our headers, the count rises, and that the copy
// that becomes a dead letter has few headers, which the library accepts.
func FuzzHeaders(f *testing.F) {
	f.Add(uint8(1), int64(math.MaxInt64), "", "x-death")
	f.Add(uint8(2), int64(math.MinInt64), "three", "wirelab-code")
	f.Fuzz(func(t *testing.T, kind uint8, value int64, text, name string) {
		d := amqp.Delivery{Headers: amqp.Table{
			failuresHeader: header(
				kind,
				value,
				text,
			),
			returnsHeader: header(kind>>1, value, text),
			dueHeader:     header(kind>>2, value, text),
			codeHeader:    header(kind>>3, value, text),
			name:          header(kind>>4, value, text),
		}}
		failures, returns := count(d, failuresHeader), count(d, returnsHeader)
		if failures < 0 || returns < 0 || int(failures+returns)+1 < 1 || failures+1 <= failures ||
			number(d, dueHeader) < 0 {
			t.Errorf("%v count %d and %d", d.Headers, failures, returns)
		}
		m := copied(d)
		length := 0
		for name, value := range m.Headers {
			length += len(name) + 16
			if text, ok := value.(string); ok {
				length += len(text)
			}
		}
		if err := m.Headers.Validate(); err != nil || len(m.Headers) > 3 || length > 1000 {
			t.Errorf("%v is copied as %v, %d bytes, %v", d.Headers, m.Headers, length, err)
		}
	})
}
