package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/setting"
)

// Every setting has a flag that sets it, on agents, sessions and forks, and --unset
// clears it; what no flag names stays.
func TestEverySettingHasAFlag(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), &lockedLog{}
	srv, c := opened(t, dir, nil, log)
	defer func() {
		c.Close()
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	}()
	ask := func(args ...string) (out, complaint string, code int) {
		var said, complained bytes.Buffer
		term := terminal{in: strings.NewReader(""), out: &said, err: &complained}
		code = run(t.Context(), append([]string{"--data", dir, "--json"}, args...), term)
		return said.String(), complained.String(), code
	}
	// settings are those of the thing that a command prints, and its id.
	settings := func(args ...string) (s parley.Settings, id string) {
		t.Helper()
		out, complaint, code := ask(args...)
		if code != 0 {
			t.Fatalf("parley %s: %s", strings.Join(args, " "), complaint)
		}
		out = strings.TrimSuffix(
			strings.TrimPrefix(strings.TrimSpace(out), "["),
			"]",
		) // a fork is printed as a list of one
		var named struct{ ID string }
		for _, into := range []any{&s, &named} {
			if err := json.Unmarshal([]byte(out), into); err != nil {
				t.Fatalf("parley %s: %v in %s", strings.Join(args, " "), err, out)
			}
		}
		return s, named.ID
	}
	flags := func(scope setting.Scope) (given []string) {
		for _, one := range setting.All(scope) {
			d := one.Describe()
			value := d.Example
			if d.Kind == setting.Text || d.Kind == setting.Choice {
				value = strings.Trim(value, `"`)
			}
			flag := "--" + strings.ReplaceAll(d.Name, "_", "-")
			if d.Name == setting.Tools.Name {
				flag, value = "--tool", "current_time"
			}
			given = append(given, flag, value)
		}
		return given
	}
	have := func(what string, scope setting.Scope, s parley.Settings, isSet bool) {
		t.Helper()
		for _, one := range setting.All(scope) {
			if got := one.IsSet(&s); got != isSet && (isSet || scope != setting.Agent || !one.IsShown()) {
				t.Errorf("%s: %s is set: %t", what, one.Describe().Name, got)
			}
		}
	}
	unset := func(scope setting.Scope) string {
		var names []string
		for _, one := range setting.All(scope) {
			names = append(names, one.Describe().Name)
		}
		return strings.Join(names, ",")
	}

	agent, _ := settings(append([]string{"agents", "create", "Full"}, flags(setting.Agent)...)...)
	have("a new agent", setting.Agent, agent, true)
	agent, _ = settings("agents", "update", "full", "--description", "Has everything.", "--temperature", "0.7")
	have("an agent after an update", setting.Agent, agent, true)
	if *agent.Temperature != 0.7 {
		t.Errorf("the temperature is %v", *agent.Temperature)
	}
	agent, _ = settings("agents", "update", "full", "--unset", unset(setting.Agent))
	have("an agent without settings", setting.Agent, agent, false)

	session, id := settings(append([]string{"sessions", "create", "--title", "Full"}, flags(setting.Session)...)...)
	have("a new session", setting.Session, session, true)
	session, _ = settings("sessions", "update", id, "--title", "Fuller", "--max-tokens", "300")
	have("a session after an update", setting.Session, session, true)
	session, _ = settings("sessions", "update", id, "--unset", unset(setting.Session))
	have("a session without settings", setting.Session, session, false)

	if _, complaint, code := ask("chat", "--session", id, "Hello."); code != 0 {
		t.Fatal(complaint)
	}
	fork, _ := settings(append([]string{"sessions", "fork", id}, flags(setting.Fork)...)...)
	have("a fork", setting.Fork, fork, true)

	for flag, value := range map[string]string{
		"--temperature": "warm", "--seed": "1.5", "--limits": "[]", "--grants": "{}", "--max-tokens": "0",
		"--reasoning-effort": "huge", "--unset": "colour",
	} {
		_, complaint, code := ask("sessions", "update", id, flag, value)
		name := strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_")
		if code == 0 || !strings.Contains(complaint, name) {
			t.Errorf("%s %s: exit %d, %s", flag, value, code, complaint)
		}
	}
}
