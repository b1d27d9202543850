package refhost

// clock is the simulated time of a Host. It does not advance while an event is handled,
// and then jumps to the next due event.
type clock struct {
	now    int64 // milliseconds
	events []event
	count  int
}

// event is a scheduled callback. Events of the same time are handled by order, then in
// the sequence in which they were scheduled.
type event struct {
	at           int64
	order, count int
	handle       func()
}

// Order of events of the same time. A run's end precedes the end of a wait for it: if
// both are due, the run wins (S4.3).
const (
	orderRun = iota
	orderFlow
)

// schedule adds an event; a time in the past means now.
func (c *clock) schedule(at int64, order int, handle func()) {
	c.count++
	c.events = append(c.events, event{max(at, c.now), order, c.count, handle})
}

// next handles the next event that is due by limit, and reports whether there was one.
// Without one, next sets the time to limit.
func (c *clock) next(limit int64) bool {
	first := -1
	for i, e := range c.events {
		if e.at <= limit && (first < 0 || e.before(c.events[first])) {
			first = i
		}
	}
	if first < 0 {
		c.now = limit
		return false
	}
	e := c.events[first]
	c.events = append(c.events[:first], c.events[first+1:]...)
	c.now = e.at
	e.handle()
	return true
}

func (e event) before(o event) bool {
	switch {
	case e.at != o.at:
		return e.at < o.at
	case e.order != o.order:
		return e.order < o.order
	}
	return e.count < o.count
}
