package parley_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"example.org/parley"
)

func TestTitleFrom(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", parley.TitleRunes)
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{" \n\t\n", ""},
		{"Hello", "Hello"},
		{"\n\n  First line  \nsecond", "First line"},
		{"with\r\nreturns", "with"},
		{long, long},
		{long + "é", strings.Repeat("é", parley.TitleRunes-1) + "…"},
		{strings.Repeat("a", parley.TitleRunes-2) + " bbb", strings.Repeat("a", parley.TitleRunes-2) + "…"},
	} {
		if got := parley.TitleFrom(test.text); got != test.want {
			t.Errorf("TitleFrom(%q) = %q; want %q", test.text, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		title := parley.TitleFrom(rapid.String().Draw(t, "text"))
		if utf8.RuneCountInString(title) > parley.TitleRunes || strings.ContainsAny(title, "\n") ||
			title != strings.TrimSpace(title) {
			t.Fatalf("the title is %q", title)
		}
	})
}

func TestKeysOfDifferentPartsDiffer(t *testing.T) {
	t.Parallel()
	// A small alphabet of the characters that a naive join would confuse.
	part := rapid.StringMatching(`[a,"\[\]:/|\\]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		one := [3]string{part.Draw(t, "type"), part.Draw(t, "feature"), part.Draw(t, "task")}
		two := [3]string{part.Draw(t, "other type"), part.Draw(t, "other feature"), part.Draw(t, "other task")}
		same := parley.KeyFor(one[0], one[1], one[2]) == parley.KeyFor(two[0], two[1], two[2])
		if same != (one == two) {
			t.Fatalf("%q and %q: equal keys is %t", one, two, same)
		}
	})
	if parley.KeyFor("dev-task", "f", "") == parley.KeyFor("dev-task", "", "f") {
		t.Error("a feature is mistaken for a task")
	}
}

func TestDefaultPolicyOfASession(t *testing.T) {
	t.Parallel()
	for want, session := range map[string]parley.Session{
		"auto":        {Kind: parley.KindAgent, Mode: parley.ModeForeground},
		"summary(50)": {Kind: parley.KindAgent, Mode: parley.ModeBackground},
		"single":      {Kind: parley.KindTool, Feature: "f", Task: "t"},
		"recent(10)":  {Kind: parley.KindAgent, Feature: "f"},
		"recent(3)":   {Kind: parley.KindAgent, Feature: "f", Task: "t"},
	} {
		policy := session.DefaultPolicy()
		if policy.String() != want {
			t.Errorf("%+v has policy %s; want %s", session, policy, want)
		}
		if err := policy.Validate(); err != nil {
			t.Errorf("the default policy %s is invalid: %v", want, err)
		}
	}
}

// TestOpaqueKeys: no opaque key has the stored form of another one, or of a derived one, and each is shown as given.
func TestOpaqueKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([]string{"", `\`, `\\`}).Draw(t, "escapes") +
			rapid.SampledFrom([]string{"", `[`, `["`, parley.KeyFor("a", "b", "")}).Draw(t, "start") +
			rapid.StringN(0, 8, 16).Draw(t, "rest")
		session := parley.Session{Key: parley.OpaqueKey(key)}
		if strings.HasPrefix(session.Key, `["`) {
			t.Fatalf("%q is stored like a derived key: %q", key, session.Key)
		}
		if shown := session.OpaqueKey(); shown != key {
			t.Fatalf("%q is shown as %q", key, shown)
		}
	})
	if shown := (&parley.Session{Key: parley.KeyFor("a", "b", "")}).OpaqueKey(); shown != "" {
		t.Errorf("a derived key is shown as %q", shown)
	}
}
