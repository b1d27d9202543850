package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/policy"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/store"
)

// Patch changes the settings of a stored session and returns the changed session
// (sessions.patch). A patch does not count as activity: updatedAt is unchanged. Patch
// fails with an *abi.Error, InvalidArgs or NotFound; any other error is from the store.
func (s *Service) Patch(ctx context.Context, p *Patch) (*abi.Session, error) {
	c := s.options.Config()
	key, _, err := resolve(c, p.Key)
	if err != nil {
		return nil, err
	}
	changes, err := p.changes(c)
	if err != nil {
		return nil, err
	}
	now := s.options.Now().UnixMilli()
	var patched *abi.Session
	err = s.options.Store.Update(ctx, func(tx store.Tx) error {
		session, err := tx.Session(key)
		if err != nil {
			return err
		}
		if session == nil {
			return abi.NewError(abi.NotFound, fmt.Sprintf("there is no session %q", key))
		}
		for _, change := range changes {
			change(session)
		}
		if p.Archived != nil && *p.Archived != (session.ArchivedAt != 0) {
			session.ArchivedAt = 0
			if *p.Archived {
				session.ArchivedAt = now
			}
		}
		patched = session
		return tx.PutSession(session)
	})
	var known *abi.Error
	if err != nil && !errors.As(err, &known) {
		err = fmt.Errorf("chat: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return patched, nil
}

// changes validates the patch's texts and returns the changes that they make.
func (p *Patch) changes(c *config.Config) (list []func(*abi.Session), err error) {
	for _, f := range [...]struct {
		name  string
		text  *string
		check func(name, text string) error
		field func(*abi.Session) *string
	}{
		{"sendPolicy", p.SendPolicy, oneOf(policy.Allow, policy.Deny), func(s *abi.Session) *string { return &s.SendPolicy }},
		{"label", p.Label, atMost(abi.MaxLabel), func(s *abi.Session) *string { return &s.Label }},
		{"displayName", p.DisplayName, atMost(abi.MaxName), func(s *abi.Session) *string { return &s.DisplayName }},
		{"model", p.Model, knownModel(c), func(s *abi.Session) *string { return &s.ModelOverride }},
		{"thinkingLevel", p.ThinkingLevel, atMost(abi.MaxName), func(s *abi.Session) *string { return &s.ThinkingLevel }},
		{"verboseLevel", p.VerboseLevel, atMost(abi.MaxName), func(s *abi.Session) *string { return &s.VerboseLevel }},
	} {
		if f.text == nil {
			continue
		}
		text := strings.TrimSpace(strings.ToValidUTF8(*f.text, "\uFFFD"))
		if text != "" {
			if err := f.check(f.name, text); err != nil {
				return nil, err
			}
		}
		list = append(list, func(s *abi.Session) { *f.field(s) = text })
	}
	return list, nil
}

func oneOf(words ...string) func(name, text string) error {
	return func(name, text string) error {
		if !slices.Contains(words, text) {
			return invalid("%s is %q; it must be one of %s, or null to unset it", name, truncate(text), strings.Join(words, ", "))
		}
		return nil
	}
}

func atMost(most int) func(name, text string) error {
	return func(name, text string) error {
		if n := utf8.RuneCountInString(text); n > most {
			return invalid("%s is %d characters long; at most %d are accepted", name, n, most)
		}
		if strings.ContainsFunc(text, unicode.IsControl) {
			return invalid("%s contains control characters", name)
		}
		return nil
	}
}

// knownModel refuses models that models.allow does not list.
func knownModel(c *config.Config) func(name, text string) error {
	return func(name, text string) error {
		if allow := c.Models.Allow; allow != nil && !slices.Contains(allow, text) {
			return invalid("%s %q is not one of models.allow: %s", name, truncate(text), strings.Join(allow, ", "))
		}
		return atMost(abi.MaxName)(name, text)
	}
}
