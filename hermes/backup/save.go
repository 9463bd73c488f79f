package backup

import (
	"context"
	"errors"
	"io"

	"wirelab/hermes/broker"
)

// partBytes is how many bytes of messages are asked for at once.
const partBytes = 1 << 20

// Source is what a backup is made of: a [broker.Archive], or what else has cuts.
type Source interface {
	Cut(ctx context.Context, topics []string) (broker.Cut, error)
}

// Save writes topics, or all where none is named, as one cut of a broker has them. progress learns of written
// data, after each part. What was written when it failed is not a backup: it has no end mark.
func Save(ctx context.Context, a Source, topics []string, w io.Writer, progress func(Totals)) (Totals, error) {
	c, err := a.Cut(ctx, topics)
	if err != nil {
		return Totals{}, err
	}
	defer c.Close()
	b, err := NewWriter(w, Cut(c.At()))
	for err == nil {
		var p broker.Part
		if p, err = c.Next(ctx, partBytes); errors.Is(err, io.EOF) {
			return b.Close()
		}
		if err == nil {
			err = b.part(p)
			progress(b.totals)
		}
	}
	return b.totals, err
}

func (b *Writer) part(p broker.Part) error {
	switch {
	case p.Topic != nil:
		return b.Topic(*p.Topic)
	case p.Group != nil:
		return b.Group(*p.Group)
	}
	for _, r := range p.Runs {
		if err := b.Run(r); err != nil {
			return err
		}
	}
	return nil
}
