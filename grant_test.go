package parley_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
)

const (
	allow = parley.GrantAllow
	ask   = parley.GrantAsk
	deny  = parley.GrantDeny
)

func grant(effect parley.GrantEffect, tool string, pairs ...string) parley.Grant {
	g := parley.Grant{Tool: tool, Effect: effect}
	for i := 0; i+1 < len(pairs); i += 2 {
		if g.Arguments == nil {
			g.Arguments = map[string]string{}
		}
		g.Arguments[pairs[i]] = pairs[i+1]
	}
	return g
}

func exactly(t testing.TB, effect parley.GrantEffect, tool, arguments string) parley.Grant {
	t.Helper()
	fingerprint, err := parley.Fingerprint(tool, json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return parley.Grant{Tool: tool, Fingerprint: fingerprint, Effect: effect}
}

func TestDecide(t *testing.T) {
	destructive := parley.ToolAnnotations{Destructive: true, OpenWorld: true}
	type grants = []parley.Grant
	for _, c := range []struct {
		name        string
		session     grants
		agent       grants
		inherited   grants
		annotations parley.ToolAnnotations
		arguments   string
		want        parley.GrantEffect
	}{
		{"nothing said of a harmless tool", nil, nil, nil, parley.ToolAnnotations{}, `{}`, allow},
		{"nothing said of a destructive one", nil, nil, nil, destructive, `{}`, ask},
		{"destructive and read-only", nil, nil, nil, parley.ToolAnnotations{Destructive: true, ReadOnly: true},
			`{}`, allow},
		{"open world alone asks nothing", nil, nil, nil, parley.ToolAnnotations{OpenWorld: true}, `{}`, allow},
		{"a grant over the annotations", nil, grants{grant(allow, "rm")}, nil, destructive, `{}`, allow},
		{"ask for a harmless tool", nil, grants{grant(ask, "rm")}, nil, parley.ToolAnnotations{}, `{}`, ask},
		{"another tool's grant", nil, grants{grant(allow, "rmdir")}, nil, destructive, `{}`, ask},
		{"the session before the agent", grants{grant(allow, "*")}, grants{grant(ask, "rm")}, nil, destructive,
			`{}`, allow},
		{"a denial of the agent before the session", grants{grant(allow, "rm")}, grants{grant(deny, "r*")}, nil,
			destructive, `{}`, deny},
		{"a denial of the session before the agent", grants{grant(deny, "*")}, grants{grant(allow, "rm")}, nil,
			destructive, `{}`, deny},
		{"a general denial before a specific yes", grants{grant(deny, "*"), grant(allow, "rm", "path", "/tmp/a")}, nil,
			nil, destructive, `{"path":"/tmp/a"}`, deny},
		{"a denial from above", grants{grant(allow, "rm")}, nil, grants{grant(deny, "rm")}, destructive, `{}`, deny},
		{"no permission from above", nil, nil, grants{grant(allow, "rm")}, destructive, `{}`, ask},
		{"no question from above", nil, nil, grants{grant(ask, "rm")}, parley.ToolAnnotations{}, `{}`, allow},
		{"the name before the pattern", grants{grant(ask, "r*"), grant(allow, "rm")}, nil, nil, destructive,
			`{}`, allow},
		{"the longer pattern", grants{grant(allow, "*"), grant(ask, "r*")}, nil, nil, destructive, `{}`, ask},
		{"with arguments before without", grants{grant(ask, "rm"), grant(allow, "rm", "path", "/tmp/*")}, nil, nil,
			destructive, `{"path":"/tmp/a"}`, allow},
		{"an argument that does not match", grants{grant(ask, "rm"), grant(allow, "rm", "path", "/tmp/*")}, nil, nil,
			destructive, `{"path":"/etc/a"}`, ask},
		{"an absent argument", nil, grants{grant(allow, "rm", "path", "*")}, nil, destructive,
			`{"dir":"/tmp"}`, ask},
		{"all arguments must match", nil, grants{grant(allow, "rm", "path", "*", "force", "false")}, nil, destructive,
			`{"path":"/tmp","force":true}`, ask},
		{"other values by their JSON", nil, grants{grant(allow, "rm", "force", "false", "n", "3", "list", `["a",*]`)},
			nil, destructive,
			`{"force":false,"n":3,"list":[ "a", "b" ]}`, allow},
		{"a text that looks like JSON", nil, grants{grant(allow, "rm", "force", "false")}, nil, destructive,
			`{"force":"false"}`, allow},
		{"equal ones: the stricter", grants{grant(allow, "rm"), grant(ask, "rm")}, nil, nil, destructive, `{}`, ask},
		{"equal ones, the other way round", grants{grant(ask, "rm"), grant(allow, "rm")}, nil, nil,
			destructive, `{}`, ask},
		{"the exact call before all",
			grants{grant(ask, "rm", "path", "/tmp/a"), exactly(t, allow, "rm", `{"path":"/tmp/a","force":true}`)}, nil,
			nil, destructive,
			`{"force":true, "path":"/tmp/a"}`, allow},
		{"one argument more is another call", grants{exactly(t, allow, "rm", `{"path":"/tmp/a"}`)}, nil, nil,
			destructive, `{"path":"/tmp/a","force":true}`, ask},
		{"a star in an argument is a letter of it", grants{exactly(t, allow, "rm", `{"path":"/tmp/*"}`)}, nil, nil,
			destructive, `{"path":"/tmp/a"}`, ask},
		{"arguments other than an object", nil, grants{grant(allow, "rm", "path", "*")}, nil, destructive, `null`, ask},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := parley.Grants{Session: c.session, Agent: c.agent, Inherited: c.inherited}
			if got := all.Decide("rm", json.RawMessage(c.arguments), c.annotations).Effect; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestDecideKeepsItsPromises: whatever the grants, a matching denial wins, rules from above a tool session never
// permit, and more denials never permit more.
func TestDecideKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom([]string{"*", "r*", "rm", "*m", "ls", "a", "/tmp/*", "/tmp/a", "", "**"})
		one := rapid.Custom(func(t *rapid.T) parley.Grant {
			g := parley.Grant{
				Tool:   words.Draw(t, "tool"),
				Effect: rapid.SampledFrom([]parley.GrantEffect{allow, ask, deny}).Draw(t, "effect"),
			}
			if rapid.Bool().Draw(t, "bound") {
				g.Arguments = map[string]string{"path": words.Draw(t, "pattern")}
			}
			return g
		})
		some := rapid.SliceOfN(one, 0, 4)
		grants := parley.Grants{
			Session:   some.Draw(t, "session"),
			Agent:     some.Draw(t, "agent"),
			Inherited: some.Draw(t, "inherited"),
		}
		arguments := json.RawMessage(
			`{"path":"` + rapid.SampledFrom([]string{"/tmp/a", "/tmp/b", "x"}).Draw(t, "path") + `"}`,
		)
		annotations := parley.ToolAnnotations{
			Destructive: rapid.Bool().Draw(t, "destructive"),
			ReadOnly:    rapid.Bool().Draw(t, "readonly"),
		}
		got := grants.Decide("rm", arguments, annotations).Effect

		apart := parley.Grants{Session: grants.Session, Agent: grants.Agent}
		if own := apart.Decide("rm", arguments, annotations).Effect; got != own && got != deny {
			t.Fatalf("rules from above turned %[2]s into %[1]s", got, own)
		}
		for _, scope := range [][]parley.Grant{grants.Session, grants.Agent, grants.Inherited} {
			for _, g := range scope {
				alone := parley.Grants{Session: []parley.Grant{g}}
				if g.Effect == deny && alone.Decide("rm", arguments, parley.ToolAnnotations{}).Effect == deny &&
					got != deny {
					t.Fatalf("%+v denies, and the call was %s", g, got)
				}
			}
		}
		more := grants
		more.Agent = append(append([]parley.Grant{}, grants.Agent...), parley.Grant{Tool: "rm", Effect: deny})
		if more.Decide("rm", arguments, annotations).Effect != deny {
			t.Fatal("a denial was added but the call is not denied")
		}
	})
}

// TestPatternsMatchLikeText compares pattern matching with a version that tries every position.
func TestPatternsMatchLikeText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SampledFrom([]string{"a", "b", "*", "ä"})
		pattern := strings.Join(rapid.SliceOfN(letters, 1, 8).Draw(t, "pattern"), "")
		text := strings.Join(rapid.SliceOfN(letters, 1, 8).Draw(t, "text"), "")
		grants := parley.Grants{Agent: []parley.Grant{{Tool: pattern, Effect: ask}}}
		got := grants.Decide(text, json.RawMessage(`{}`), parley.ToolAnnotations{}).Effect == ask
		if want := matchesSlowly(pattern, text); got != want {
			t.Fatalf("%q against %q: %v, want %v", pattern, text, got, want)
		}
	})
}

func matchesSlowly(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	if pattern[0] == '*' {
		return matchesSlowly(pattern[1:], text) || text != "" && matchesSlowly(pattern, text[1:])
	}
	return text != "" && text[0] == pattern[0] && matchesSlowly(pattern[1:], text[1:])
}

func TestFingerprintIsOfTheExactCall(t *testing.T) {
	of := func(tool, arguments string) parley.Hash { return exactly(t, allow, tool, arguments).Fingerprint }
	if of("rm", `{"a":1,"b":2}`) != of("rm", `{ "b": 2, "a": 1 }`) {
		t.Error("the order of members makes another call")
	}
	for _, other := range []parley.Hash{of("rm", `{"a":1,"b":3}`), of("rm", `{"a":1}`), of("rn", `{"a":1,"b":2}`),
		of(`rm"{`, `{"a":1,"b":2}`)} {
		if other == of("rm", `{"a":1,"b":2}`) {
			t.Error("two calls have one fingerprint")
		}
	}
}

func TestInvalidGrants(t *testing.T) {
	for field, g := range map[string]parley.Grant{
		"grants.tool":        {Effect: allow},
		"grants.effect":      {Tool: "rm", Effect: "perhaps"},
		"grants.fingerprint": {Tool: "r*", Fingerprint: parley.HashOf(nil), Effect: allow},
		"grants.arguments": {Tool: "rm",
			Arguments: map[string]string{"path": strings.Repeat("x", parley.MaxGrantPatternBytes+1)}, Effect: allow},
	} {
		var refused *parley.Error
		if err := parley.ValidateGrants([]parley.Grant{g}); !asError(err, &refused) || refused.Field != field {
			t.Errorf("%+v: %v, want the field %s", g, err, field)
		}
	}
	if err := parley.ValidateGrants(make([]parley.Grant, parley.MaxGrants+1)); err == nil {
		t.Error("any number of grants")
	}
}

func TestWithAllowed(t *testing.T) {
	all := parley.ToolAnnotations{Destructive: true}
	call := json.RawMessage(`{"path":"/tmp/a"}`)
	fingerprint := exactly(t, allow, "rm", string(call)).Fingerprint
	before := []parley.Grant{grant(ask, "rm"), grant(ask, "rm", "path", "/etc/*"), grant(deny, "mkfs")}
	tool, err := parley.WithAllowed(before, "rm", parley.Hash{})
	if err != nil {
		t.Fatal(err)
	}
	if got := (parley.Grants{Session: tool}).Decide("rm", call, all).Effect; got != allow {
		t.Errorf("the tool was allowed, and a call is %s", got)
	}
	if got := (parley.Grants{Session: tool}).Decide(
		"rm",
		json.RawMessage(`{"path":"/etc/passwd"}`),
		all,
	).Effect; got != ask {
		t.Errorf("a narrower question was overruled: %s", got)
	}
	exact, err := parley.WithAllowed(before, "rm", fingerprint)
	if err != nil {
		t.Fatal(err)
	}
	if got := (parley.Grants{Session: exact}).Decide("rm", call, all).Effect; got != allow {
		t.Errorf("the call was allowed and is %s", got)
	}
	if got := (parley.Grants{Session: exact}).Decide(
		"rm",
		json.RawMessage(`{"path":"/tmp/b"}`),
		all,
	).Effect; got != ask {
		t.Errorf("another call is %s", got)
	}
	again, err := parley.WithAllowed(exact, "rm", fingerprint)
	if err != nil || len(again) != len(exact) {
		t.Errorf("the same grant twice: %v, %v", again, err)
	}
	if _, err := parley.WithAllowed(
		make([]parley.Grant, parley.MaxGrants),
		"rm",
		fingerprint,
	); parley.ErrorCode(
		err,
	) != parley.CodeConflict {
		t.Errorf("one grant too many: %v", err)
	}
	if before[0].Effect != ask {
		t.Error("the grants before were changed")
	}
}

func asError(err error, to **parley.Error) bool { return errors.As(err, to) }

// TestNamedApprovalsAreLiftedByNothing: the strictest rule about who approves prevails over every allowing grant, even
// from above a tool session; a denial is stronger.
func TestNamedApprovalsAreLiftedByNothing(t *testing.T) {
	t.Parallel()
	call := json.RawMessage(`{"path":"/tmp/a"}`)
	fingerprint, err := parley.Fingerprint("rm", call)
	if err != nil {
		t.Fatal(err)
	}
	lifting := []parley.Grant{
		{Tool: "rm", Fingerprint: fingerprint, Effect: parley.GrantAllow},
		{Tool: "rm", Effect: parley.GrantAsk},
	}
	two, others := parley.Grant{
		Tool:      "r*",
		Effect:    parley.GrantAsk,
		Approvers: 2,
	}, parley.Grant{
		Tool:     "*",
		Effect:   parley.GrantAsk,
		ByOthers: true,
	}
	want := parley.Ruling{Effect: parley.GrantAsk, Approvers: 2, ByOthers: true}
	for name, grants := range map[string]parley.Grants{
		"on the agent":   {Session: lifting, Agent: []parley.Grant{two, others}},
		"on the session": {Session: append([]parley.Grant{two, others}, lifting...), Agent: lifting},
		"above":          {Session: lifting, Inherited: []parley.Grant{two, others}},
		"here and above": {Session: append([]parley.Grant{two}, lifting...), Inherited: []parley.Grant{others}},
	} {
		if got := grants.Decide("rm", call, parley.ToolAnnotations{}); got != want {
			t.Errorf("%s: %+v", name, got)
		}
		grants.Inherited = append(grants.Inherited, parley.Grant{Tool: "rm", Effect: parley.GrantDeny})
		if got := grants.Decide("rm", call, parley.ToolAnnotations{}); got.Effect != parley.GrantDeny {
			t.Errorf("%s, denied: %+v", name, got)
		}
	}
	kept, err := parley.WithAllowed(
		[]parley.Grant{{Tool: "rm", Effect: parley.GrantAsk, Approvers: 2}},
		"rm",
		parley.Hash{},
	)
	if err != nil || len(kept) != 2 {
		t.Errorf("an allowing grant replaced a named approval: %+v, %v", kept, err)
	}
}
