package recentlog

// ring is a queue that grows and shrinks with its content: ten thousand topics have one each, most of them
// empty.
type ring[T any] struct {
	items []T // its length is 0 or a power of two
	head  int
	n     int
}

func (q *ring[T]) push(item T) {
	if q.n == len(q.items) {
		q.resize(max(4, 2*q.n))
	}
	q.items[(q.head+q.n)&(len(q.items)-1)] = item
	q.n++
}

// pop takes the oldest away; there must be one.
func (q *ring[T]) pop() T {
	var none T
	item := q.items[q.head]
	q.items[q.head] = none // what it refers to is to be collected
	q.head = (q.head + 1) & (len(q.items) - 1)
	q.n--
	switch {
	case q.n == 0:
		q.items, q.head = nil, 0
	case len(q.items) > 64 && q.n < len(q.items)/4:
		q.resize(len(q.items) / 2)
	}
	return item
}

// at is the item that i others are older than.
func (q *ring[T]) at(i int) *T { return &q.items[(q.head+i)&(len(q.items)-1)] }

func (q *ring[T]) resize(size int) {
	items := make([]T, size)
	for i := range q.n {
		items[i] = *q.at(i)
	}
	q.items, q.head = items, 0
}
