package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
)

// searching asks until a search finds so many hits: the index is made beside the
// requests.
func (s *testServer) searching(query string, hits int, headers ...string) engine.SearchResults {
	s.Helper()
	deadline := time.Now().Add(patience)
	for {
		found := want[engine.SearchResults](s, http.StatusOK, "GET", "/v1/search?"+query, "", headers...)
		if len(found.Data) == hits && found.Complete {
			return found
		}
		if time.Now().After(deadline) {
			s.Fatalf(
				"%s finds %d (complete: %v), want %d: %+v",
				query,
				len(found.Data),
				found.Complete,
				hits,
				found.Data,
			)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-s.Context().Done():
			s.Fatal(s.Context().Err())
		}
	}
}

// searchable says something, and waits until it is found.
func (s *testServer) searchable() string {
	s.Helper()
	s.session(`{"message":{"content":{"text":"a needle"},"respond":false}}`, "Authorization", "Bearer "+testToken)
	s.searching("q=needle", 1, "Authorization", "Bearer "+testToken)
	return "needle"
}

// What was said is found in the words that people write, with what was found marked.
func TestSearchFindsWhatWasSaid(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(
		`{"title":"Releases","model":"sim/echo","message":{"content":{"text":"Der Rollout der Größe 42 ist 🚀 ` +
			`fertig"}}}`,
	)
	s.finished(session.ID.String())
	found := s.searching("q=grosse", 2)
	hit := found.Data[0]
	if hit.Session.ID != session.ID || hit.Session.Title != "Releases" || hit.Message == nil || found.Next != nil ||
		hit.Score != 1 {
		t.Errorf("found %+v", hit)
	}
	for _, hit := range found.Data {
		text := []rune(hit.Snippet.Text)
		if len(hit.Snippet.Marks) != 1 || string(text[hit.Snippet.Marks[0][0]:hit.Snippet.Marks[0][1]]) != "Größe" {
			t.Errorf("marked %v in %q", hit.Snippet.Marks, hit.Snippet.Text)
		}
	}
	for query, hits := range map[string]int{
		"q=rollout+fertig": 2, `q="der+größe"`: 2, `q="größe+der"`: 0, "q=roll": 2, "q=roll+": 0, "q=rollout+-42": 0,
		"q=releases": 1, "q=fertig&role=user": 1,
		"q=fertig&role=user&role=assistant": 2, "q=fertig&role=system": 0, "q=releases&role=user": 0,
		"q=fertig&agent=parley": 2, "q=fertig&session=" + session.ID.String(): 2,
		"q=fertig&created_to=2020-01-01T00:00:00Z": 0, "q=fertig&created_from=2020-01-01T00:00:00Z": 2,
		"q=fertig&archived=true": 0, "q=fertig&archived=false": 2,
		"q=fertig&tool=current_time": 0, "q=fertig&limit=1": 1,
	} {
		got := want[engine.SearchResults](s, http.StatusOK, "GET", "/v1/search?"+query, "")
		if len(got.Data) != hits {
			t.Errorf("%s finds %d, want %d", query, len(got.Data), hits)
		}
	}
	title := want[engine.SearchResults](s, http.StatusOK, "GET", "/v1/search?q=releases", "").Data[0]
	if title.Message != nil || title.Snippet.Text != "Releases" ||
		!slices.Equal(title.Snippet.Marks[0][:], []int{0, 8}) {
		t.Errorf("the title is found as %+v", title)
	}
	first := want[engine.SearchResults](s, http.StatusOK, "GET", "/v1/search?q=fertig&limit=1", "")
	second := want[engine.SearchResults](s, http.StatusOK, "GET", "/v1/search?q=fertig&limit=1&cursor="+*first.Next, "")
	if second.Next != nil || len(second.Data) != 1 || second.Data[0].Message.ID == first.Data[0].Message.ID {
		t.Errorf("the second page is %+v", second)
	}
}

// What nothing can be found by is refused with a sentence, whatever it is made of;
// never is it an error of the database.
func TestSearchRefusesOddQueries(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.searchable()
	for _, q := range []string{
		`"`, `""`, "*", "-", "--", "()", "NEAR(a b)", "a AND", "words:needle", "{words}:x", "^needle", "a\\b", "'",
		"''", ";", "needle\" OR \"x", `needle' | 'x`, "needle:*", "!needle",
		"needle <-> x", "& | ! ( )", "\u0000", "e000", "\ue000w", "a\u0301", "\u0301", strings.Repeat("a ", 32),
		strings.Repeat("a ", 33), strings.Repeat("word ", 1000),
		strings.Repeat("x", 64<<10), "-only", "%", "_", "\xff\xfe", "東", "東京", "𝔘𝔫𝔦", "ﷺ", "½", "needle -",
		"🚀", "a\u200db",
	} {
		got := s.do("GET", "/v1/search?q="+url.QueryEscape(q), "")
		if got.status != http.StatusOK && got.status != http.StatusUnprocessableEntity &&
			got.status != http.StatusRequestHeaderFieldsTooLarge &&
			got.status != http.StatusRequestURITooLong {
			t.Errorf("%q: status %d: %s", parley.Clip(q, 40), got.status, got.body)
		}
	}
	for q, says := range map[string]string{"": "write words", "   ": "write words", "-a": "add a word",
		"!!": "letters or digits", strings.Repeat("a ", 33): "32 words", strings.Repeat("x", 1025): "1024 bytes"} {
		if problem := s.do("GET", "/v1/search?q="+url.QueryEscape(q), "").
			problem(t); len(problem.Errors) != 1 || problem.Errors[0].Field != "q" ||
			!strings.Contains(problem.Errors[0].Message+problem.Detail, says) {
			t.Errorf("%q is refused with %+v", parley.Clip(q, 40), problem)
		}
	}
}

// A search finds in what one may read and nowhere else, and what is hidden changes
// no score of what is not.
func TestSearchKeepsToWhatOneMayRead(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	ada, bob, other := s.key(
		"one",
		"ada",
		parley.RoleMember,
	), s.key(
		"one",
		"bob",
		parley.RoleMember,
	), s.key(
		"two",
		"eve",
		parley.RoleAdmin,
	)
	admin := s.key("one", "boss", parley.RoleAdmin)
	say := func(bearer, visibility string) {
		s.session(
			`{"visibility":"`+visibility+`","message":{"content":{"text":"the secret word"},"respond":false}}`,
			"Authorization",
			bearer,
		)
	}
	say(ada, "private")
	say(ada, "workspace")
	say(other, "workspace")
	for bearer, hits := range map[string]int{ada: 2, bob: 1, admin: 2, other: 1} {
		for _, hit := range s.searching("q=secret", hits, "Authorization", bearer).Data {
			if hit.Score != 1 {
				t.Errorf("score %v", hit.Score)
			}
		}
	}
	internal := s.session(`{"visibility":"workspace"}`, "Authorization", ada)
	s.do(
		"POST",
		"/v1/sessions/"+internal.ID.String()+"/messages",
		`{"content":{"text":"inner secret"},"respond":false,"internal":true}`,
		"Authorization",
		ada,
	)
	s.do(
		"POST",
		"/v1/sessions/"+internal.ID.String()+"/messages",
		`{"content":{"text":"behind it"},"respond":false}`,
		"Authorization",
		ada,
	)
	s.searching("q=behind", 1, "Authorization", ada)
	s.searching("q=inner", 0, "Authorization", ada)
}
