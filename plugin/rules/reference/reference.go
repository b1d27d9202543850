// Package reference resolves the parameter sessionKey to a session (S1.5). The parameter
// is main, current, a session key in any of its forms, or a sessionId.
//
// Visibility is decided on the canonical key, never on the text, and an answer never
// depends on a session that the caller may not see.
package reference

import (
	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/sessionkey"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/internal/render"
	"github.com/parley-wasm/parley/plugin/rules/visibility"
)

// Find returns the stored session that text refers to for the view's caller. name is
// the parameter's name, for error texts. It fails with an *abi.Error, whose code is
//   - InvalidArgs: text is not a reference, or not a valid one for this caller;
//   - Forbidden: the caller may not see a session with this key, stored or not;
//   - NotFound: text refers to no session that the caller may see;
//
// or with a *guest.Fault.
func Find(c *guest.Client, v *visibility.View, name, text string) (*abi.Session, error) {
	if err := sessionkey.Check(text); err != nil {
		return nil, invalid(name, text, err)
	}
	if text == sessionkey.Current {
		if v.Self == "" {
			return nil, abi.NewError(abi.InvalidArgs, name+` "current" means the calling session, and the operator has none; name a session`)
		}
		return known(c, v, text, v.Self)
	}
	key, err := v.Keys.Canonical(text, v.Agent)
	if sessionkey.HasKeyForm(text) {
		if err != nil {
			return nil, invalid(name, text, err)
		}
		return known(c, v, text, key)
	}
	switch text {
	case sessionkey.Global, sessionkey.Unknown:
		return nil, invalid(name, text, err)
	}
	// A text without the form of a key counts as a key only if it names a session that
	// the caller may see. Otherwise the answer would reveal other sessions. A text that
	// is too long for a key can still be a sessionId.
	if err == nil {
		row, err := c.Get(key)
		if err != nil {
			return nil, err
		}
		if row != nil && !v.Keys.Hidden(row.Key) && v.Sees(key, row) {
			return row, nil
		}
	}
	row, err := c.Resolve(&abi.ResolveRequest{SessionID: text, Scope: v.Scope(), MainKey: v.Keys.MainKey, Global: v.Global()})
	if err != nil {
		return nil, err
	}
	if row == nil || v.Keys.Hidden(row.Key) || !v.Sees(row.Key, row) {
		return nil, abi.NewError(abi.NotFound, "no session with the key or sessionId "+render.Quote(text)+" is visible here; sessions_list shows those that are")
	}
	return row, nil
}

func known(c *guest.Client, v *visibility.View, text, key string) (*abi.Session, error) {
	row, err := c.Get(key)
	if err != nil {
		return nil, err
	}
	if err := v.Check(text, key, row); err != nil {
		return nil, err
	}
	return row, nil
}

func invalid(name, text string, err error) error {
	return abi.NewError(abi.InvalidArgs, name+" "+render.Quote(text)+" "+err.Error())
}
