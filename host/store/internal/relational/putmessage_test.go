package relational

// Misplace makes the transaction believe that the transcript of key ends one message
// before its last one, so that the next message gets an id that is taken.
func (t *Tx) Misplace(key string) {
	e := t.b.ends[key]
	e.seq, e.ordinal = e.seq-1, e.ordinal-1
}
