package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
)

func trusting(networks ...string) func(*Options) {
	return func(o *Options) {
		for _, network := range networks {
			o.TrustedProxies = append(o.TrustedProxies, netip.MustParsePrefix(network))
		}
	}
}

// holds is a time that passes at once, and keeps for how long answers were held back.
type holds struct {
	mu   sync.Mutex // guards long
	long []time.Duration
}

func (h *holds) pass(o *Options) { o.after = h.after }

func (h *holds) after(hold time.Duration) <-chan time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.long = append(h.long, hold)
	over := make(chan time.Time)
	close(over)
	return over
}

// grow demands that so many answers were held back, each at least as long as the one
// before and none beyond the bound.
func (h *holds) grow(t *testing.T, many int) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.long) != many || !slices.IsSorted(h.long) {
		t.Fatalf("answers were held back for %v; want %d, each longer", h.long, many)
	}
	if first, last := h.long[0], h.long[many-1]; first != holdFirst || last != holdMost {
		t.Errorf("the first was held back for %s and the last for %s, want %s and %s", first, last, holdFirst, holdMost)
	}
}

// stuck is a time that passes only with over for so many, and at once for the rest; each
// of them says that it waits.
func stuck(many int64, waiting chan<- struct{}, over <-chan time.Time) func(time.Duration) <-chan time.Time {
	var asked atomic.Int64
	past := make(chan time.Time)
	close(past)
	return func(time.Duration) <-chan time.Time {
		waiting <- struct{}{}
		if asked.Add(1) > many {
			return past
		}
		return over
	}
}

// A guesser's answers wait, up to a bound, beyond which they are 429 at once; a right key
// of the same address waits for none of them.
func TestHeldAnswersAreBoundedAndRightKeysPassThem(t *testing.T) {
	t.Parallel()
	waiting, over := make(chan struct{}, 2*heldPerSender), make(chan time.Time)
	s := startServer(t, func(o *Options) {
		o.after = stuck(heldPerSender, waiting, over)
	})
	right := s.key("default", "right", parley.RoleMember)
	guess := func() int { return s.do("GET", "/v1/principal", "", "Authorization", "Bearer pk_wrong").status }
	for range wrongKeys {
		guess()
	}
	answers := make(chan int, heldPerSender)
	for range heldPerSender {
		go func() { answers <- guess() }() // ends when the time passes
	}
	for range heldPerSender {
		select {
		case <-waiting:
		case status := <-answers:
			t.Fatalf("a wrong key was answered at once with %d", status)
		case <-time.After(patience):
			t.Fatal("no answer is held back")
		}
	}
	if got := s.do("GET", "/v1/principal", "", "Authorization", right); got.status != http.StatusOK {
		t.Errorf("a right key beside them: status %d", got.status)
	}
	if got := guess(); got != http.StatusTooManyRequests {
		t.Errorf("one more than may wait: status %d", got)
	}
	if len(waiting) > 0 {
		t.Error("more answers wait than may")
	}
	close(over)
	for range heldPerSender {
		select {
		case status := <-answers:
			if status != http.StatusTooManyRequests {
				t.Errorf("an answer that was held back: status %d", status)
			}
		case <-time.After(patience):
			t.Fatal("an answer is held back for ever")
		}
	}
}

// All senders together have a bound too, and whoever leaves makes room.
func TestHeldAnswersOfAllSendersAreBounded(t *testing.T) {
	t.Parallel()
	g := newGuesses(nil, slog.New(slog.DiscardHandler))
	waiting := make(chan struct{}, 8*heldInAll)
	g.after = stuck(heldInAll, waiting, nil)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	exhaust := func(sender string) {
		for range wrongKeys {
			g.wrong(from(sender), false)
		}
	}
	var guessers sync.WaitGroup
	for i := range heldInAll / heldPerSender {
		sender := fmt.Sprintf("192.0.2.%d", i)
		exhaust(sender)
		for range heldPerSender {
			guessers.Go(func() { g.wrong(from(sender).WithContext(ctx), false) })
		}
	}
	for range heldInAll {
		select {
		case <-waiting:
		case <-time.After(patience):
			t.Fatal("fewer answers are held back than may be")
		}
	}
	exhaust("198.51.100.1")
	if g.wrong(from("198.51.100.1").WithContext(ctx), false) == 0 || len(waiting) > 0 {
		t.Error("one more than may wait in all waits")
	}
	leave()
	guessers.Wait()
	if g.held != 0 {
		t.Errorf("%d answers are held back for nobody", g.held)
	}
	for _, who := range g.guessers {
		if who.held != 0 {
			t.Errorf("%d answers of a sender are held back for nobody", who.held)
		}
	}
}

// TestWrongKeysAreSlowedAndRightOnesAreNot: beside a guesser at the same address.
func TestWrongKeysAreSlowedAndRightOnesAreNot(t *testing.T) {
	t.Parallel()
	var refused, slowed atomic.Int64
	held := &holds{}
	s := startServer(t, held.pass, func(o *Options) {
		o.WrongKey = func(status int) {
			if status == http.StatusUnauthorized {
				refused.Add(1)
			} else {
				slowed.Add(1)
			}
		}
	})
	right := s.key("default", "right", parley.RoleMember)
	tries := []func(i int) reply{
		func(i int) reply {
			return s.do("GET", "/v1/principal", "", "Authorization", fmt.Sprintf("Bearer pk_tried-%d", i))
		},
		func(i int) reply { return s.do("POST", "/v1/sign-in", fmt.Sprintf(`{"key":"pk_tried-%d"}`, i)) },
		func(i int) reply { return s.do("GET", fmt.Sprintf("/sign-in?code=tried-%d", i), "") },
	}
	for i := range 3 * wrongKeys {
		got := tries[i%len(tries)](i)
		switch {
		case i < wrongKeys && got.status != http.StatusUnauthorized:
			t.Fatalf("try %d: status %d, want 401", i, got.status)
		case i >= wrongKeys && (got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" ||
			got.header.Get("Retry-After") == "0"):
			t.Fatalf("try %d: status %d, Retry-After %q, want 429", i, got.status, got.header.Get("Retry-After"))
		}
		if strings.Contains(string(got.body), "tried") {
			t.Errorf("the answer repeats the key: %s", got.body)
		}
	}
	if got := s.do("GET", "/v1/principal", "", "Authorization", right); got.status != http.StatusOK {
		t.Errorf("a right key of the same address: status %d", got.status)
	}
	if got := s.do(
		"POST",
		"/v1/sign-in",
		`{"key":"`+strings.TrimPrefix(right, "Bearer ")+`"}`,
	); got.status != http.StatusOK {
		t.Errorf("signing in with it: status %d", got.status)
	}
	if got := s.do("GET", "/v1/principal", ""); got.status != http.StatusUnauthorized {
		t.Errorf("without a key: status %d", got.status)
	}
	if refused.Load() != wrongKeys || slowed.Load() != 2*wrongKeys {
		t.Errorf("%d were counted as refused and %d as slowed", refused.Load(), slowed.Load())
	}
	held.grow(t, 2*wrongKeys)
	if log := s.log.String(); strings.Contains(log, "tried") || strings.Count(log, `msg="wrong keys"`) != 2 {
		t.Errorf("the log: %s", log)
	}
}

// TestBehindATrustedProxyTheAddressItReportsCounts: and what others say does not.
func TestBehindATrustedProxyTheAddressItReportsCounts(t *testing.T) {
	t.Parallel()
	s := startServer(t, trusting("127.0.0.0/8"), (&holds{}).pass)
	s.key("default", "some", parley.RoleMember)
	ask := func(forwarded string) int {
		return s.do("GET", "/v1/principal", "", "Authorization", "Bearer pk_wrong", "X-Forwarded-For", forwarded).status
	}
	for range wrongKeys {
		ask("192.0.2.1")
	}
	for forwarded, want := range map[string]int{
		"192.0.2.1": 429, "203.0.113.5, 192.0.2.1": 429, "192.0.2.1:5000": 429, "192.0.2.1, 127.0.0.9": 429,
		"192.0.2.2": 401, "192.0.2.1, 192.0.2.2": 401,
	} {
		if got := ask(forwarded); got != want {
			t.Errorf("%s: status %d, want %d", forwarded, got, want)
		}
	}
	open := startServer(t, (&holds{}).pass)
	open.key("default", "some", parley.RoleMember)
	for i := range wrongKeys + 1 {
		status := open.do(
			"GET",
			"/v1/principal",
			"",
			"Authorization",
			"Bearer pk_wrong",
			"X-Forwarded-For",
			fmt.Sprintf("192.0.2.%d", i),
		).status
		if want := map[bool]int{true: 401, false: 429}[i < wrongKeys]; status != want {
			t.Errorf("a proxy that nobody trusts, try %d: status %d, want %d", i, status, want)
		}
	}
}

func TestARevokedKeyIsWrittenDownInItsWorkspace(t *testing.T) {
	t.Parallel()
	s := startServer(t, (&holds{}).pass)
	admin := s.key("default", "admin", parley.RoleAdmin)
	made := want[engine.NewKey](
		s,
		http.StatusCreated,
		"POST",
		"/v1/keys",
		`{"name":"leaked","role":"member"}`,
		"Authorization",
		admin,
	)
	want[struct{}](s, http.StatusNoContent, "DELETE", "/v1/keys/"+made.ID.String(), "", "Authorization", admin)
	for range 2 * wrongKeys {
		s.do("GET", "/v1/principal", "", "Authorization", "Bearer "+made.Secret)
	}
	s.do("GET", "/v1/principal", "", "Authorization", "Bearer pk_never-was-one")
	entries := 0
	for _, e := range s.auditOf("") {
		if e.Action != engine.RefusedKey {
			continue
		}
		entries++
		if e.PrincipalID != made.PrincipalID || e.TargetID != made.ID || e.PrincipalName != "leaked" {
			t.Errorf("the entry is of %+v", e)
		}
	}
	if entries != wrongKeys {
		t.Errorf("%d entries, want %d: those that were not slowed", entries, wrongKeys)
	}
}

// at is a table of guessers at a moment that the test moves.
func at(now *time.Time) *guesses {
	g := newGuesses(nil, slog.New(slog.DiscardHandler))
	g.now = func() time.Time { return *now }
	g.after = (&holds{}).after
	return g
}

func from(address string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(address), 5000).String()
	return r
}

func TestAGuesserHasATryNowAndThen(t *testing.T) {
	t.Parallel()
	now := time.Now()
	g := at(&now)
	passed := 0
	for range 1000 { // over 1,000 s
		if g.wrong(from("192.0.2.1"), false) == 0 {
			passed++
		}
		now = now.Add(time.Second)
	}
	if most := wrongKeys + int(1000*time.Second/wrongKeyEach) + 1; passed > most || passed < most-2 {
		t.Errorf("%d tries passed, want about %d", passed, most)
	}
}

// TestSendersAreNetworksAndBounded: one who has an IPv6 network is one, and no number
// of addresses fills the memory.
func TestSendersAreNetworksAndBounded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	g := at(&now)
	slowed := 0
	for i := range 2 * wrongKeys {
		if g.wrong(from(fmt.Sprintf("2001:db8::%x", i+1)), false) > 0 {
			slowed++
		}
	}
	if slowed != wrongKeys {
		t.Errorf("%d tries of one network were slowed, want %d", slowed, wrongKeys)
	}
	for i := range 2 * mostGuessers {
		g.wrong(from(fmt.Sprintf("10.%d.%d.1", i/256, i%256)), false)
	}
	if len(g.guessers) > mostGuessers {
		t.Errorf("%d senders are remembered", len(g.guessers))
	}
	now = now.Add(forgetGuesser)
	g.wrong(from("192.0.2.77"), false)
	if len(g.guessers) != 1 {
		t.Errorf("%d senders are remembered when all have been quiet", len(g.guessers))
	}
	if g.lines > guessLines {
		t.Errorf("%d lines of the log in a minute", g.lines)
	}
}

func TestEndedCookiesHaveAPaceOfTheirOwn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	g := at(&now)
	for i := range wrongCookies {
		if wait := g.wrong(from("192.0.2.1"), true); wait > 0 {
			t.Fatalf("cookie %d waits %s", i, wait)
		}
	}
	if g.wrong(from("192.0.2.1"), true) == 0 {
		t.Error("there is no end of cookies")
	}
	if g.wrong(from("192.0.2.1"), false) > 0 {
		t.Error("a wrong key pays for cookies")
	}
}
