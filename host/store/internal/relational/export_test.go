package relational

// RewindEnd moves the cached end of the transcript of key back by one message, so that
// the next message gets an id that another row has.
func (t *Tx) RewindEnd(key string) {
	e := t.b.ends[key]
	e.id, e.ordinal = e.id-1, e.ordinal-1
}
