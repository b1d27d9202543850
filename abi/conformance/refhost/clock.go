package refhost

// clock is a world's time: it stands still while something happens, and jumps to
// what is due next.
type clock struct {
	now    int64 // milliseconds
	events []event
	count  int
}

// event is something that is due. What is due at one instant happens by order,
// then as it was planned.
type event struct {
	at           int64
	order, count int
	happen       func()
}

// Order of what is due at one instant: a run that ends is known before a wait for
// it is over (the run wins, S4.3).
const (
	orderRun = iota
	orderFlow
)

// plan makes something due at a time.
func (c *clock) plan(at int64, order int, happen func()) {
	c.count++
	c.events = append(c.events, event{max(at, c.now), order, c.count, happen})
}

// next lets the next thing that is due until limit happen. When there is none it
// is limit, and next reports false.
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
	e.happen()
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
