package guest

import (
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
)

// Status returns the run with this id as it stands, or nil.
func (c *Client) Status(runID string) (*abi.Run, error) {
	q := abi.StatusRequest{RunID: runID}
	c.buf = q.AppendJSON(c.buf[:0])
	ok, err := c.call(abi.ImportAgent, abi.OpStatus)
	if err != nil {
		return nil, err
	}
	v := ok.Get("run")
	if !v.Exists() {
		return nil, malformed(abi.ImportAgent, abi.OpStatus)
	}
	if !v.IsObject() {
		return nil, nil
	}
	r := &abi.Run{}
	readRun(v, r)
	if r.ID == "" || r.Status == "" {
		return nil, malformed(abi.ImportAgent, abi.OpStatus)
	}
	return r, nil
}

// Waits reports whether the session waits, itself or through others, for the
// caller's run (S4.4).
func (c *Client) Waits(sessionKey string) (bool, error) {
	q := abi.WaitsRequest{SessionKey: sessionKey}
	c.buf = q.AppendJSON(c.buf[:0])
	ok, err := c.call(abi.ImportAgent, abi.OpWaits)
	if err != nil {
		return false, err
	}
	switch ok.Get("waits").Type {
	case gjson.True:
		return true, nil
	case gjson.False:
		return false, nil
	}
	return false, malformed(abi.ImportAgent, abi.OpWaits)
}

// Run records that a run is queued, and returns its id. It is a write: no read
// may follow in this step.
func (c *Client) Run(q *abi.RunRequest) (runID string, err error) {
	c.buf = q.AppendJSON(c.buf[:0])
	return c.effect(abi.ImportAgent, abi.OpRun, "runId")
}

// Send records that a text is delivered, and returns the delivery's id. It is a
// write.
func (c *Client) Send(q *abi.SendRequest) (deliveryID string, err error) {
	c.buf = q.AppendJSON(c.buf[:0])
	return c.effect(abi.ImportDeliver, abi.OpSend, "deliveryId")
}

// Create records that a child of the caller's session is created, and returns its
// canonical key and its sessionId. It is a write.
func (c *Client) Create(q *abi.CreateRequest) (key, sessionID string, err error) {
	c.buf = q.AppendJSON(c.buf[:0])
	ok, err := c.call(abi.ImportStore, abi.OpCreate)
	if err != nil {
		return "", "", err
	}
	key, sessionID = ok.Get("sessionKey").Str, ok.Get("sessionId").Str
	if key == "" || sessionID == "" {
		return "", "", malformed(abi.ImportStore, abi.OpCreate)
	}
	return key, sessionID, nil
}

// Archive records that a child which this flow has created is archived. It is a
// write.
func (c *Client) Archive(q *abi.ArchiveRequest) error {
	c.buf = q.AppendJSON(c.buf[:0])
	_, err := c.call(abi.ImportStore, abi.OpArchive)
	return err
}

// Delete records that a child which this flow has created is deleted. It is a
// write.
func (c *Client) Delete(q *abi.DeleteRequest) error {
	c.buf = q.AppendJSON(c.buf[:0])
	_, err := c.call(abi.ImportStore, abi.OpDelete)
	return err
}

// effect calls for an effect and returns the id that it is given.
func (c *Client) effect(family, op, name string) (string, error) {
	ok, err := c.call(family, op)
	if err != nil {
		return "", err
	}
	id := ok.Get(name).Str
	if id == "" {
		return "", malformed(family, op)
	}
	return id, nil
}
