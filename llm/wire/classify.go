package wire

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/model"
)

// Failure is a provider's account of what went wrong.
type Failure struct {
	Status     int // HTTP status, 200 for an error inside a stream
	Type, Code string
	Message    string
	RetryAfter time.Duration
}

// maxRetryAfter bounds how long a wait Parley accepts from a provider.
const maxRetryAfter = 24 * time.Hour

// Classify says what a failure means. The wording is looked at in this order,
// because the later ones are hidden in the earlier ones' messages:
//
//	exhausted quota         rate_limit, never retried (429 or not)
//	throttling              rate_limit, retried
//	401, 403                auth
//	context length          context_length
//	content filter          content_filter
//	overloaded; 408, 425, 502 to 504, 52x, 529   network, retried
//	409, 500 and other 5xx  model, retried
//	3xx                     network: the base URL is wrong
//	404 and other 4xx       model
//	an error in a stream that says nothing of all this   model, retried
func Classify(f Failure, secrets ...string) *model.Error {
	class, retryable := classOf(f)
	message := f.Message
	if message == "" {
		message = strings.TrimSpace(strings.Join([]string{f.Code, f.Type}, " "))
	}
	if message == "" {
		message = "status " + strconv.Itoa(f.Status) + " " + http.StatusText(f.Status)
	}
	e := model.NewError(class, retryable, Redact(message, secrets...), nil)
	e.Status, e.RetryAfter = f.Status, f.RetryAfter
	return e
}

func classOf(f Failure) (parley.ErrorClass, bool) {
	kind := strings.ToLower(f.Type + " " + f.Code)
	said := kind + " " + strings.ToLower(f.Message)
	status := f.Status
	if status < 300 {
		status = statusOf(kind, f.Code)
	}
	mayThrottle := status == 0 || status == 400 || status == 403 || status >= 429
	switch {
	case holds(kind, exhaustedKinds) || status == http.StatusPaymentRequired:
		return parley.ClassRateLimit, false
	case status != 401 && holds(said, exhausted) && f.RetryAfter == 0 && !holds(said, perMinute):
		return parley.ClassRateLimit, false
	case status == http.StatusTooManyRequests || mayThrottle && holds(said, throttled):
		return parley.ClassRateLimit, true
	case status == 403 && holds(said, filtered):
		return parley.ClassContentFilter, false
	case status == 401 || status == 403:
		return parley.ClassAuth, false
	case status != 404 && (status == 413 || holds(said, tooLong)):
		return parley.ClassContextLength, false
	case status != 404 && holds(said, filtered):
		return parley.ClassContentFilter, false
	case status == 408 || status == 425 || status >= 502 && status <= 504 || status >= 520 && status <= 530 ||
		status != 400 && holds(said, overloaded):
		return parley.ClassNetwork, true
	case status == 409 || status >= 500 || status == 0:
		return parley.ClassModel, true
	case status < 400:
		return parley.ClassNetwork, false
	default:
		return parley.ClassModel, false
	}
}

// The wordings, in lower case, separated by bars.
const (
	exhaustedKinds = "insufficient_quota|billing_error|billing_hard_limit_reached|billing_not_active|" +
		"arrearage|insufficient_balance|credits_exhausted"
	exhausted = "exceeded your current quota|check your plan and billing|credit balance is too low|insufficient " +
		"balance|" +
		"insufficient credit|insufficient quota|quota exhausted|quota has been exhausted|out of credits|" +
		"requires more credits|payment required|account is in good standing|billing hard limit|spending limit|" +
		"monthly limit"
	perMinute = "per minute|per second|retry in|try again in|perminute|per day per"
	throttled = "rate limit|rate_limit|ratelimit|too many requests|too_many_requests|throttl|tokens per min|requests " +
		"per min|" +
		"too many tokens, please wait|slow down|concurrency limit|resource_exhausted|resource exhausted|" +
		"please wait before trying again"
	tooLong = "context_length|context length|context window|context size|maximum context|context limit|" +
		"model_max_prompt_tokens|prompt is too long|prompt too long|input is too long|input too long|input length|" +
		"too many input tokens|too many tokens|token count exceeds|exceeds the maximum number of tokens|" +
		"exceeds the model's maximum|exceed context|exceeds the available context|reduce the length of the messages|" +
		"reduce your prompt|request_too_large|string_above_max_length|range of input length"
	filtered = "content_filter|content filter|content_policy|content policy|content management policy|" +
		"responsibleaipolicyviolation|data_inspection_failed|datainspectionfailed|inappropriate content|safety " +
		"system|" +
		"usage policy|usage policies|flagged|requires moderation|moderation_blocked|by " +
		"moderation|prohibited_content|blocked by our"
	overloaded = "overloaded|at capacity|temporarily unavailable|service unavailable|service_unavailable|bad gateway|" +
		"gateway timeout|timed out|timeout_error"
)

func holds(text, words string) bool {
	for word := range strings.SplitSeq(words, "|") {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// statusOf returns the HTTP status that an error inside a stream would have had, 0 if unknown.
func statusOf(kind, code string) int {
	if n, err := strconv.Atoi(code); err == nil && n >= 300 && n < 600 {
		return n
	}
	for _, known := range []struct {
		word   string
		status int
	}{
		{"overloaded", 529}, {"rate_limit", 429}, {"too_many_requests", 429}, {"authentication", 401},
		{"invalid_api_key", 401},
		{"permission", 403}, {"billing", 402}, {"not_found", 404}, {"request_too_large", 413}, {"timeout", 504},
		{"unavailable", 503}, {"invalid_request", 400}, {"badrequest", 400}, {"api_error", 500}, {"server_error", 500},
		{"internal", 500},
	} {
		if strings.Contains(kind, known.word) {
			return known.status
		}
	}
	return 0
}

// ParseFailure reads an error body in any of the providers' shapes: {"error":{…}}, {"error":"…"},
// {"type":"error","error":{…}}, the fields at the top, a list around it, or no JSON at all.
func ParseFailure(body []byte) Failure {
	var f Failure
	if !json.Valid(body) {
		f.Message = parley.Clip(strings.TrimSpace(strings.ToValidUTF8(string(body), "\ufffd")), maxSaid)
		return f
	}
	var s Scanner
	s.Reset(body)
	if s.space() == '[' && s.Array() && !s.Element() {
		return f
	}
	f.read(&s)
	return f
}

// maxSaid bounds an error's text before it is redacted, in bytes; the shown text is clipped further.
const maxSaid = 4 << 10

// read reads the fields of an error object, nested ones first.
func (f *Failure) read(s *Scanner) {
	if s.space() == '"' {
		text, _ := s.String()
		f.Message = clean(text)
		return
	}
	var inner Failure
	for more := s.Object(); more; {
		var name []byte
		if name, more = s.Field(); !more {
			break
		}
		switch string(name) {
		case "error":
			inner.read(s)
		case "type", "status":
			f.Type = strings.TrimSpace(f.Type + " " + s.said())
		case "code":
			f.Code = s.said()
		case "message", "detail", "msg", "error_msg":
			if said := s.said(); f.Message == "" {
				f.Message = said
			}
		default:
			s.Skip()
		}
	}
	if inner != (Failure{}) {
		*f = inner
	}
}

// said returns the next value as text: a string itself, any other value's JSON, and nothing for null.
func (s *Scanner) said() string {
	if s.space() == '"' {
		text, _ := s.String()
		return clean(text)
	}
	if raw := string(s.Skip()); raw != "null" {
		return clean([]byte(raw))
	}
	return ""
}

func clean(text []byte) string {
	var runes Runes
	return parley.Clip(runes.Join(text)+runes.End(), maxSaid)
}

// RetryAfter returns how long the provider asks to wait: retry-after-ms, else Retry-After in seconds or as a date,
// relative to the provider's own clock if it sends one.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return wait(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return wait(seconds * float64(time.Second))
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		now = theirs
	}
	return wait(float64(until.Sub(now)))
}

func wait(d float64) time.Duration {
	if !(d > 0) {
		return 0
	}
	return time.Duration(min(d, float64(maxRetryAfter)))
}
