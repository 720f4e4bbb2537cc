package prompt_test

import (
	"testing"

	"example.org/parley"
	"example.org/parley/prompt"
)

// Which sessions have a group of their own, and which share one.
func TestCacheGroups(t *testing.T) {
	t.Parallel()
	zero, workspace, elsewhere, log := int64(0), parley.NewID(), parley.NewID(), parley.NewID()
	chat := func(change func(*parley.Session)) *parley.Session {
		s := &parley.Session{
			WorkspaceID: workspace, LogID: parley.NewID(), Kind: parley.KindAgent, Mode: parley.ModeForeground,
		}
		if change != nil {
			change(s)
		}
		return s
	}
	background := func(s *parley.Session) { s.Mode = parley.ModeBackground }
	group := func(s *parley.Session) prompt.CacheGroup {
		return prompt.CacheGroupOf(s, modelA, "You look things up.", parley.Hash{})
	}
	for name, c := range map[string]struct {
		one, other prompt.CacheGroup
		same       bool
	}{
		"two conversations": {group(chat(nil)), group(chat(nil)), false},
		"a fork": {
			group(chat(func(s *parley.Session) { s.LogID = log })),
			group(chat(func(s *parley.Session) {
				s.ParentSessionID, s.ForkedThrough, s.RootLogID = parley.NewID(), &zero, log
			})), true,
		},
		"two background sessions": {group(chat(background)), group(chat(background)), true},
		"a child and a tool session": {
			group(chat(func(s *parley.Session) { s.ParentSessionID = parley.NewID() })),
			group(chat(func(s *parley.Session) { s.Kind = parley.KindTool })), true,
		},
		"another workspace": {
			group(chat(background)),
			group(chat(func(s *parley.Session) { s.Mode, s.WorkspaceID = parley.ModeBackground, elsewhere })), false,
		},
		"another prompt": {
			group(chat(background)),
			prompt.CacheGroupOf(chat(background), modelA, "You translate.", parley.Hash{}), false,
		},
		"other tools": {
			group(chat(background)),
			prompt.CacheGroupOf(chat(background), modelA, "You look things up.", parley.HashOf([]byte("[]"))), false,
		},
		"another model": {
			group(chat(background)),
			prompt.CacheGroupOf(chat(background), modelB, "You look things up.", parley.Hash{}), false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if same := c.one == c.other; same != c.same {
				t.Errorf("one group: %t; want %t", same, c.same)
			}
			if a, b := c.one.Key(1), c.one.Key(2); a == b || a == c.one.Key(0) || len(a) != 32 {
				t.Errorf("the keys of a group are %q, %q", a, b)
			}
		})
	}
}
