package guest

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonobject"
)

// Status returns the current state of the run with this id, or nil if the run does not exist.
func (c *Client) Status(runID string) (*abi.Run, error) {
	q := abi.StatusRequest{RunID: runID}
	c.buf = q.AppendJSON(c.buf[:0])
	ok, err := c.call(abi.ImportAgent, abi.OpStatus)
	if err != nil {
		return nil, err
	}
	var r abi.StatusReply
	if r.ReadJSON(ok, jsonobject.Tolerant) != nil || r.Run != nil && (r.Run.ID == "" || r.Run.Status == "") {
		return nil, malformed(abi.ImportAgent, abi.OpStatus)
	}
	return r.Run, nil
}

// Waits reports whether the session waits, directly or through other sessions, for
// the caller's run (S4.4).
func (c *Client) Waits(sessionKey string) (bool, error) {
	q := abi.WaitsRequest{SessionKey: sessionKey}
	c.buf = q.AppendJSON(c.buf[:0])
	ok, err := c.call(abi.ImportAgent, abi.OpWaits)
	if err != nil {
		return false, err
	}
	var r abi.WaitsReply
	if r.ReadJSON(ok, jsonobject.Tolerant); r.Waits == nil {
		return false, malformed(abi.ImportAgent, abi.OpWaits)
	}
	return *r.Waits, nil
}

// Run requests a run, which the host queues when it commits the step, and returns the
// run's id. Run is a write: no read may follow it in this step.
func (c *Client) Run(q *abi.RunRequest) (runID string, err error) {
	c.buf = q.AppendJSON(c.buf[:0])
	var r abi.RunReply
	if err = c.effect(abi.ImportAgent, abi.OpRun, &r); err == nil && r.RunID == "" {
		err = malformed(abi.ImportAgent, abi.OpRun)
	}
	return r.RunID, err
}

// Send requests the delivery of a text, which the host queues when it commits the step,
// and returns the delivery's id. Send is a write.
func (c *Client) Send(q *abi.SendRequest) (deliveryID string, err error) {
	c.buf = q.AppendJSON(c.buf[:0])
	var r abi.SendReply
	if err = c.effect(abi.ImportDeliver, abi.OpSend, &r); err == nil && r.DeliveryID == "" {
		err = malformed(abi.ImportDeliver, abi.OpSend)
	}
	return r.DeliveryID, err
}

// Create requests a child of the caller's session, which the host creates when it
// commits the step, and returns the child's canonical key and sessionId. Create is a write.
func (c *Client) Create(q *abi.CreateRequest) (key, sessionID string, err error) {
	c.buf = q.AppendJSON(c.buf[:0])
	var r abi.CreateReply
	if err = c.effect(abi.ImportStore, abi.OpCreate, &r); err == nil && (r.SessionKey == "" || r.SessionID == "") {
		err = malformed(abi.ImportStore, abi.OpCreate)
	}
	return r.SessionKey, r.SessionID, err
}

// Archive requests that the host archive a child that this flow created. Archive is a write.
func (c *Client) Archive(q *abi.ArchiveRequest) error {
	c.buf = q.AppendJSON(c.buf[:0])
	_, err := c.call(abi.ImportStore, abi.OpArchive)
	return err
}

// Delete requests that the host delete a child that this flow created. Delete is a write.
func (c *Client) Delete(q *abi.DeleteRequest) error {
	c.buf = q.AppendJSON(c.buf[:0])
	_, err := c.call(abi.ImportStore, abi.OpDelete)
	return err
}

// effect makes the write request in c.buf and reads the reply.
func (c *Client) effect(namespace, op string, reply jsonobject.Reader) error {
	ok, err := c.call(namespace, op)
	if err == nil {
		reply.ReadJSON(ok, jsonobject.Tolerant)
	}
	return err
}
