package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/protocol/a2a"
)

func withA2A(o *Options) { o.Mounts = append(o.Mounts, a2a.Mounts(o.Engine, o.Streams, "1")...) }

// TestPushesAtOnceAreBounded: a turn has so many push notifications, also of requests that come at once.
func TestPushesAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	s := startServer(t, withA2A)
	at := "/v1/sessions/" + s.session(`{"model":"sim/script","tools":["current_time"],`+
		`"grants":[{"tool":"current_*","effect":"ask"}]}`).ID.String()
	s.plays(at, []string{call("current_time", map[string]string{})})
	s.stream("GET", at+"/events", "").until("session.waiting")
	turn := want[parley.Session](s, 200, "GET", at, "").TurnID
	ask := func(method, more string) {
		s.do("POST", "/a2a", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"taskId":%q%s}}`,
			method+"TaskPushNotificationConfig", turn, more), "A2A-Version", "1.0")
	}
	list := func() string {
		return string(s.do("POST", "/a2a", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":`+
			`"ListTaskPushNotificationConfigs","params":{"taskId":%q}}`, turn), "A2A-Version", "1.0").body)
	}
	var work sync.WaitGroup
	for range parley.MaxPushesOfTurn { // the one of an id replaces the others
		work.Go(func() { ask("Create", `,"id":"0","url":"https://example.com/"`) })
	}
	work.Wait()
	if got := list(); strings.Count(got, `"url"`) != 1 {
		t.Errorf("of one id there are: %s", got)
	}
	for i := range 3 * parley.MaxPushesOfTurn {
		work.Go(func() { ask("Create", fmt.Sprintf(`,"id":"%d","url":"https://example.com/"`, i)) })
	}
	work.Wait()
	if got := list(); strings.Count(got, `"url"`) != parley.MaxPushesOfTurn {
		t.Errorf("the turn's push notifications, want %d: %s", parley.MaxPushesOfTurn, got)
	}
}

// TestAnAdminsOwnPushGoesFirst: push notifications of several principals may have one id. An admin, who sees all of
// them, reads and removes the own one by it.
func TestAnAdminsOwnPushGoesFirst(t *testing.T) {
	t.Parallel()
	s := startServer(t, withA2A)
	member := []string{"Authorization", s.key("default", "ben", parley.RoleMember)}
	admin := []string{"Authorization", s.key("default", "ada", parley.RoleAdmin)}
	at := "/v1/sessions/" + s.session(`{"model":"sim/script","tools":["current_time"],"visibility":"workspace",`+
		`"grants":[{"tool":"current_*","effect":"ask"}]}`, admin...).ID.String()
	s.plays(at, []string{call("current_time", map[string]string{})}, admin...)
	s.stream("GET", at+"/events", "", admin...).until("session.waiting")
	turn := want[parley.Session](s, 200, "GET", at, "", admin...).TurnID
	ask := func(who []string, method, more string) string {
		got := s.do(
			"POST",
			"/a2a",
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"taskId":%q,"id":"p"%s}}`,
				method+"TaskPushNotificationConfig", turn, more),
			append(who, "A2A-Version", "1.0")...)
		return string(got.body)
	}
	ask(member, "Create", `,"url":"https://example.com/bens"`)
	ask(admin, "Create", `,"url":"https://example.com/mine"`)
	if got := ask(admin, "Get", ""); !strings.Contains(got, "/mine") {
		t.Errorf("an admin's own push notification is %s", got)
	}
	ask(admin, "Delete", "")
	if got := ask(member, "Get", ""); !strings.Contains(got, "/bens") {
		t.Errorf("the member's was removed in its place: %s", got)
	}
	if got := ask(admin, "Get", ""); !strings.Contains(got, "/bens") {
		t.Errorf("an admin does not see the member's: %s", got)
	}
}

// TestListsOfTasksReadSoMuch: a page of tasks looks through a bounded number of turns, also if none is wanted, and the
// next one goes on.
func TestListsOfTasksReadSoMuch(t *testing.T) {
	t.Parallel()
	s := startServer(t, withA2A)
	id := s.session(`{"model":"sim/echo"}`).ID.String()
	const turns = 140
	for range turns {
		if got := s.do("POST", "/v1/sessions/"+id+"/messages", `{"content":{"text":"a"}}`); got.status != 201 {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
	}
	pages := 0
	for token := ""; pages == 0 || token != ""; pages++ {
		var answer struct {
			Result struct {
				Tasks []json.RawMessage
				Next  string `json:"nextPageToken"`
			}
		}
		got := s.do("POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":1,`+
			`"statusTimestampAfter":"2100-01-01T00:00:00Z","pageToken":"`+token+`"}}`, "A2A-Version", "1.0")
		if err := json.Unmarshal(got.body, &answer); err != nil || len(answer.Result.Tasks) > 0 || pages > turns {
			t.Fatalf("%v: status %d after %d pages: %s", err, got.status, pages, got.body)
		}
		token = answer.Result.Next
	}
	if pages != 2 {
		t.Errorf("%d turns that nobody wants took %d pages, want 2", turns, pages)
	}
}
