package reference

import (
	"strings"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/render"
	"github.com/parley-wasm/parley/plugin/rules/visibility"
)

// maxNamed is the number of sessions with the same label that an error lists.
const maxNamed = 10

// Labelled returns the only visible session with this label. Unless agentID is empty, it
// considers only the sessions of that agent. Archived sessions count only when no other session
// has the label. It fails with an *abi.Error, whose code is
//   - InvalidArgs: several visible sessions have the label;
//   - NotFound: no visible session has the label;
//
// or with a *guest.Fault.
func Labelled(c *guest.Client, v *visibility.View, label, agentID string) (*abi.Session, error) {
	q := abi.ListRequest{
		Scope: v.Scope(), MainKey: v.Keys.MainKey, Global: v.Global(),
		AgentID: agentID, Label: label, Limit: maxNamed + 1,
	}
	rows, err := visible(c, v, &q)
	if err == nil && len(rows) == 0 {
		q.IncludeArchived, q.Limit = true, 1
		rows, err = visible(c, v, &q)
	}
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, abi.NewError(abi.NotFound, "no session with the label "+render.Quote(label)+among(agentID)+" is visible here; sessions_list shows those that are")
	case len(rows) > 1:
		return nil, abi.NewError(abi.InvalidArgs, "several sessions have the label "+render.Quote(label)+among(agentID)+"; pass one of their keys as sessionKey: "+keys(v, rows))
	}
	return rows[0], nil
}

func visible(c *guest.Client, v *visibility.View, q *abi.ListRequest) ([]*abi.Session, error) {
	page, err := c.List(q)
	if err != nil {
		return nil, err
	}
	var rows []*abi.Session
	for i := range page.Rows {
		if s := &page.Rows[i].Session; !v.Keys.Hidden(s.Key) && v.Sees(s.Key, s) {
			rows = append(rows, s)
		}
	}
	return rows, nil
}

func among(agentID string) string {
	if agentID == "" {
		return ""
	}
	return " and the agent " + agentID
}

func keys(v *visibility.View, rows []*abi.Session) string {
	var all []string
	for i, s := range rows {
		if i == maxNamed {
			all = append(all, "and more")
			break
		}
		all = append(all, v.Show(s.Key))
	}
	return strings.Join(all, ", ")
}
