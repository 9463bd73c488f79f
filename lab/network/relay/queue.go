package relay

// queue is first in, first out, and keeps its memory.
type queue[T any] struct {
	items []T
	head  int
}

func (q *queue[T]) len() int { return len(q.items) - q.head }

// at returns an item by its place, the next to be taken being 0.
func (q *queue[T]) at(i int) *T { return &q.items[q.head+i] }

func (q *queue[T]) push(item T) { q.items = append(q.items, item) }

// drop takes the first n items. What is left is moved to the front only when
// that is no more than was taken, so that an item is moved once on average.
func (q *queue[T]) drop(n int) {
	clear(q.items[q.head : q.head+n])
	q.head += n
	if q.head >= len(q.items)-q.head {
		rest := copy(q.items, q.items[q.head:])
		clear(q.items[rest:])
		q.items, q.head = q.items[:rest], 0
	}
}
