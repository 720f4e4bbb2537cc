package setting

import (
	"bytes"

	"example.org/parley"
)

// Find returns the setting with a name.
func Find(name string) (Setting, bool) {
	for _, s := range all {
		if s.Describe().Name == name {
			return s, true
		}
	}
	return nil, false
}

// All lists the settings that may be set in any of the given scopes, in the order in which sessions show them.
func All(scopes Scope) []Setting {
	var in []Setting
	for _, s := range all {
		if s.Describe().In(scopes) {
			in = append(in, s)
		}
	}
	return in
}

// Over merges settings over those that they replace in the same scope: what they do not set stays, part by part.
func Over(near, wider parley.Settings) parley.Settings {
	for _, s := range all {
		s.fill(&near, &wider)
	}
	return near
}

// Effective returns the settings of a turn: those of its trigger message, else its session's, else its agent's.
func Effective(message parley.Settings, session, agent *parley.Settings) parley.Settings {
	for _, s := range all {
		s.inherit(&message, session)
		s.inherit(&message, agent)
	}
	return message
}

// Patched applies a patch to settings: what it does not name stays, so that two patches of different settings both
// survive, wherever they are applied.
func Patched(s parley.Settings, patch *parley.SettingsPatch) parley.Settings {
	for _, one := range all {
		one.apply(patch, &s)
	}
	return s
}

// Stored returns the settings of a session that a database stores together: the context policy and the retry policy
// have columns of their own.
func Stored(s parley.Settings) parley.Settings {
	s.Policy, s.Retry = nil, nil
	return s
}

// Complete fills in the defaults that an agent's settings always show.
func Complete(s *parley.Settings) {
	for _, one := range all {
		one.complete(s)
	}
}

// IsZero reports whether nothing is set.
func IsZero(s *parley.Settings) bool { return *s == parley.Settings{} }

// Check reports the first setting that does not belong in a scope, or breaks a bound. Checks that need a server (for a
// model, a tool, a placeholder) are the caller's.
func Check(scope Scope, s *parley.Settings) error {
	if IsZero(s) {
		return nil
	}
	for _, one := range all {
		if d := one.Describe(); !d.In(scope) && one.IsSet(s) {
			return parley.InvalidField(d.Name, "cannot be set on a %s; set it on %s", scope, places(d.Scopes))
		}
		if err := one.check(s); err != nil {
			return err
		}
	}
	return nil
}

// CheckParameters is Check for only the sampling parameters.
func CheckParameters(p parley.Parameters) error {
	return Check(Message, &parley.Settings{Parameters: p})
}

// places says where a setting may be set, leaving out forks: they are sessions.
func places(scopes Scope) string {
	var said string
	for _, scope := range []Scope{Agent, Session, Message} {
		if scopes&scope == 0 {
			continue
		}
		if said != "" {
			said += " or "
		}
		said += "the " + scope.String()
	}
	return said
}

// AppendJSON appends the settings as fields of an object that already has others: all of them, null for those not set.
func AppendJSON(to []byte, s *parley.Settings) []byte {
	for i, one := range all {
		to = append(to, names[i]...)
		value, err := one.AppendValue(to, s)
		if err != nil { // settings were decoded from JSON
			value = append(to, "null"...)
		}
		to = value
	}
	return to
}

// Differing returns the names of the settings in which two scopes differ.
func Differing(a, b *parley.Settings) (differing []string) {
	for _, one := range all {
		was, errA := one.AppendValue(nil, a)
		is, errB := one.AppendValue(nil, b)
		if errA != nil || errB != nil || !bytes.Equal(was, is) {
			differing = append(differing, one.Describe().Name)
		}
	}
	return differing
}
