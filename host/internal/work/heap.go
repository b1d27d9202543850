package work

// Heap is a container/heap.Interface whose items know their index, so that heap.Remove
// and heap.Fix work for any item. The first item is before all others.
type Heap[T heapItem[T]] []T

type heapItem[T any] interface {
	Before(other T) bool
	position() *Position
}

// Position is embedded in the items of a Heap. An item is in one heap at a time.
type Position struct {
	Index int // in the heap; undefined while the item is in no heap
}

func (p *Position) position() *Position { return p }

func (h Heap[T]) Len() int           { return len(h) }
func (h Heap[T]) Less(i, j int) bool { return h[i].Before(h[j]) }
func (h Heap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].position().Index, h[j].position().Index = i, j
}

// Push implements heap.Interface.
func (h *Heap[T]) Push(x any) {
	item := x.(T)
	item.position().Index = len(*h)
	*h = append(*h, item)
}

// Pop implements heap.Interface.
func (h *Heap[T]) Pop() any {
	last := len(*h) - 1
	item := (*h)[last]
	clear((*h)[last:])
	*h = (*h)[:last]
	return item
}
