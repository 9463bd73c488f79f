package messaging

import (
	"context"
	"iter"
	"math/rand/v2"
	"strconv"

	"wirelab"
)

// Operations returns the three calls, and how to draw one of each: to topics that no other caller uses, so that
// replies do not depend on others.
func Operations() []wirelab.Operation[Service] {
	return []wirelab.Operation[Service]{
		wirelab.Unary("Publish", func(r *rand.Rand) Message {
			return Message{Topic: drawTopic(r), Body: drawBody(r)}
		}, Service.Publish).Once(),
		wirelab.Unary("PublishBatch", func(r *rand.Rand) Batch {
			b := Batch{Topic: drawTopic(r)}
			for range 1 + r.IntN(100) {
				b.Bodies = append(b.Bodies, drawBody(r))
			}
			return b
		}, Service.PublishBatch).Once(),
		wirelab.ServerStreaming("Deliver", func(r *rand.Rand) Reading {
			return Reading{Topic: drawTopic(r), Group: "readers", Count: 1}
		}, Service.Deliver).Once(),
	}
}

func drawTopic(r *rand.Rand) string { return "drawn-" + strconv.FormatUint(r.Uint64(), 36) }

// drawBody draws a message of up to some hundred bytes.
func drawBody(r *rand.Rand) []byte {
	body := make([]byte, 1+r.IntN(300))
	for i := range body {
		body[i] = byte(r.Uint32())
	}
	return body
}

// Wrap returns service with hooks in it, as [wirelab.Hooks] says where.
func Wrap(service Service, hooks wirelab.Hooks) Service { return hooked{service, hooks} }

// hooked is a service with hooks.
type hooked struct {
	service Service
	hooks   wirelab.Hooks // Before and After are set
}

func (h hooked) Deliver(ctx context.Context, r Reading) iter.Seq2[Delivered, error] {
	return wirelab.BetweenItems(ctx, h.hooks, "Deliver", h.service.Deliver, r, func(uint64) Delivered {
		return Delivered{Body: make([]byte, wirelab.ItemSize)}
	})
}
