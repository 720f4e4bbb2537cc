package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/parley"
)

// The bounds of wrong secrets from one sender: an IPv4 address, or the /64 of an IPv6 one. Only wrong secrets are
// slowed: others who share an address with a guesser notice nothing.
const (
	wrongKeys    = 10              // at once, before they are slowed; then
	wrongKeyEach = 6 * time.Second // one more in this time
	// Open pages keep sending the cookies of sign-ins that have ended.
	wrongCookies    = 120
	wrongCookieEach = time.Second

	// Beyond that the answer to a wrong secret is delayed: first by holdFirst, each time twice as long, at most by
	// holdMost.
	holdFirst     = 250 * time.Millisecond
	holdMost      = 5 * time.Second
	heldPerSender = 8   // delayed at once; others are answered immediately
	heldInAll     = 256 // by a process

	mostGuessers  = 4096 // senders remembered
	guessLines    = 20   // log lines per guessLineTime
	guessLineTime = time.Minute
	logTenfold    = 10               // a sender's 1st, 10th, 100th … wrong secret gets a line
	forgetGuesser = 10 * time.Minute // after its last wrong secret
	mostForwarded = 32               // addresses of X-Forwarded-For that are read
)

// guesser is a sender of wrong secrets.
type guesser struct {
	keys, cookies tries
	last          time.Time
	count         int // wrong secrets so far
	line          int // the count that gets the next log line
	held          int // answers that are delayed now
}

// tries are a sender's wrong secrets of one kind.
type tries struct {
	due  time.Time     // when the next may come at the allowed pace
	hold time.Duration // of the next delayed answer
}

// guesses remembers who sends wrong secrets, never the secrets.
type guesses struct {
	proxies []netip.Prefix // their X-Forwarded-For is trusted
	log     *slog.Logger
	now     func() time.Time
	after   func(time.Duration) <-chan time.Time

	mu       sync.Mutex // guards the rest
	guessers map[netip.Prefix]*guesser
	held     int // answers that are delayed now
	lines    int // log lines since linesAt
	linesAt  time.Time
	silent   int // wrong secrets without a line
}

func newGuesses(proxies []netip.Prefix, log *slog.Logger) *guesses {
	return &guesses{proxies: proxies, log: log, now: time.Now, after: time.After, guessers: map[netip.Prefix]*guesser{}}
}

// wrong records a wrong secret and returns how long the sender must wait before its next try: 0 while it has some left.
// If it has none left, wrong returns late, which slows a sender that asks one after the other. The number of delayed
// answers is bounded.
func (g *guesses) wrong(r *http.Request, cookie bool) time.Duration {
	who, wait, hold := g.note(r, cookie)
	if hold == 0 {
		return wait
	}
	select {
	case <-g.after(hold):
	case <-r.Context().Done(): // the sender is gone
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	who.held--
	g.held--
	return wait
}

// note counts a wrong secret and returns how long to delay its answer.
func (g *guesses) note(r *http.Request, cookie bool) (who *guesser, wait, hold time.Duration) {
	from := networkOf(g.sender(r))
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	who = g.guessers[from]
	if who == nil {
		g.forget(now)
		who = &guesser{line: 1}
		g.guessers[from] = who
	}
	if now.Sub(who.last) >= forgetGuesser {
		who.keys.hold, who.cookies.hold = 0, 0
	}
	who.last = now
	who.count++
	g.tell(r.Context(), from, who, now)
	of, most, each := &who.keys, wrongKeys, wrongKeyEach
	if cookie {
		of, most, each = &who.cookies, wrongCookies, wrongCookieEach
	}
	if wait = of.pace(now, most, each); wait == 0 || who.held >= heldPerSender || g.held >= heldInAll {
		return who, wait, 0
	}
	who.held++
	g.held++
	of.hold = min(holdMost, max(holdFirst, 2*of.hold))
	return who, wait, of.hold
}

// pace admits a few at once, and then one per interval.
func (t *tries) pace(now time.Time, most int, each time.Duration) time.Duration {
	if t.due.Before(now) {
		t.due = now
	}
	if wait := t.due.Sub(now) - time.Duration(most-1)*each; wait > 0 {
		return wait
	}
	t.due = t.due.Add(each)
	return 0
}

// forget makes room for one more sender: it drops quiet ones or, if all are busy, any one. Delayed answers of a dropped
// sender still count in the total.
func (g *guesses) forget(now time.Time) {
	if len(g.guessers) < mostGuessers {
		return
	}
	for from, who := range g.guessers {
		if now.Sub(who.last) >= forgetGuesser {
			delete(g.guessers, from)
		}
	}
	for from := range g.guessers {
		if len(g.guessers) < mostGuessers {
			return
		}
		delete(g.guessers, from)
	}
}

// tell logs a sender's 1st, 10th, 100th wrong secret and so on.
func (g *guesses) tell(ctx context.Context, from netip.Prefix, who *guesser, now time.Time) {
	if now.Sub(g.linesAt) >= guessLineTime {
		g.lines, g.linesAt = 0, now
	}
	if who.count < who.line || g.lines >= guessLines {
		g.silent++
		return
	}
	who.line = who.count * logTenfold
	g.lines++
	g.log.LogAttrs(ctx, slog.LevelWarn, "wrong keys", slog.String("from", from.String()),
		slog.Int("of_this_sender", who.count), slog.Int("without_a_line", g.silent))
	g.silent = 0
}

// sender is the address that a request comes from: the connection's other end or, behind trusted proxies, the last
// address that is not a proxy's.
func (g *guesses) sender(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	from := at.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	slices.Reverse(hops)
	for i, hop := range hops {
		if i >= mostForwarded || !g.trusts(from) {
			break
		}
		before, ok := forwardedAddress(hop)
		if !ok {
			break
		}
		from = before
	}
	return from
}

func (g *guesses) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(g.proxies, func(network netip.Prefix) bool { return network.Contains(address) })
}

// forwardedAddress reads one address of X-Forwarded-For; some proxies add a port.
func forwardedAddress(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if address, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return address.Unmap(), true
	}
	both, err := netip.ParseAddrPort(text)
	return both.Addr().Unmap(), err == nil
}

// caller finds who sends a request.
func (a *api) caller(x *exchange) (caller, error) {
	who, err := a.gate.caller(x.r)
	if parley.ErrorCode(err) != parley.CodeUnauthenticated {
		return who, err
	}
	shown, malformed := shownBy(x.r)
	if malformed != nil || shown.secret == "" {
		return who, err // it showed no secret
	}
	return who, a.wrongSecret(x, shown, err)
}

// wrongSecret answers a secret that belongs to nobody: with refusal, or with 429 if wrong ones come too fast. The audit
// of a revoked key's workspace records its use.
func (a *api) wrongSecret(x *exchange, shown credential, refusal error) error {
	status := http.StatusUnauthorized
	wait := a.guesses.wrong(x.r, shown.cookie)
	if wait > 0 {
		status = http.StatusTooManyRequests
		x.guessing = true
		x.w.Header().Set("Connection", "close")
		refusal = parley.TooManyWrongKeys(wait)
	} else if !shown.cookie {
		a.engine.NoteRefused(x.r.Context(), shown.secret, x.requestID)
	}
	if a.wrongKey != nil {
		a.wrongKey(status)
	}
	return refusal
}
