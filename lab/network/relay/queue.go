package relay

// queue is a FIFO queue that reuses its memory.
type queue[T any] struct {
	items []T
	head  int
}

func (q *queue[T]) len() int { return len(q.items) - q.head }

// at returns the item with index i; 0 is the next to be dropped.
func (q *queue[T]) at(i int) *T { return &q.items[q.head+i] }

func (q *queue[T]) push(item T) { q.items = append(q.items, item) }

// drop removes the first n items. It moves the rest to the front only if that is no more than was removed, so that an
// item is moved once on average.
func (q *queue[T]) drop(n int) {
	clear(q.items[q.head : q.head+n])
	q.head += n
	if q.head >= len(q.items)-q.head {
		rest := copy(q.items, q.items[q.head:])
		clear(q.items[rest:])
		q.items, q.head = q.items[:rest], 0
	}
}
