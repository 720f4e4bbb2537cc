package llmtest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/model"
)

// errorCase is an answer that is not a stream, and its meaning.
type errorCase struct {
	name       string
	status     int
	header     http.Header
	body       string
	class      parley.ErrorClass
	retryable  bool
	retryAfter time.Duration
	says       string // contained in the message
}

// said returns an error body in the shape of both formats.
func said(kind, code, message string) string {
	return fmt.Sprintf(
		`{"type":"error","error":{"message":%q,"type":%q,"param":null,"code":%q},"request_id":"req_1"}`,
		message,
		kind,
		code,
	)
}

func head(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func errorCases() []errorCase {
	return []errorCase{
		{
			name:       "rate limit",
			status:     429,
			header:     head("Retry-After", "7"),
			body:       said("rate_limit_error", "rate_limit_exceeded", "Rate limit reached for requests"),
			class:      parley.ClassRateLimit,
			retryable:  true,
			retryAfter: 7 * time.Second,
			says:       "Rate limit reached",
		},
		{
			name:       "rate limit in milliseconds",
			status:     429,
			header:     head("Retry-After-Ms", "1500", "Retry-After", "2"),
			body:       said("requests", "rate_limit_exceeded", "slow"),
			class:      parley.ClassRateLimit,
			retryable:  true,
			retryAfter: 1500 * time.Millisecond,
		},
		{
			name:       "rate limit until a date",
			status:     429,
			header:     head("Date", "Sat, 21 Nov 2026 10:00:00 GMT", "Retry-After", "Sat, 21 Nov 2026 10:00:30 GMT"),
			class:      parley.ClassRateLimit,
			retryable:  true,
			retryAfter: 30 * time.Second,
			says:       "429",
		},
		{
			name:      "rate limit until a date long past",
			status:    429,
			header:    head("Retry-After", "Sat, 21 Nov 1998 10:00:30 GMT"),
			class:     parley.ClassRateLimit,
			retryable: true,
		},
		{
			name:   "quota exhausted",
			status: 429,
			header: head("Retry-After", "1"),
			body: said(
				"insufficient_quota",
				"insufficient_quota",
				"You exceeded your current quota, please check your plan and billing details.",
			),
			class:      parley.ClassRateLimit,
			retryAfter: time.Second,
			says:       "billing details",
		},
		{
			name:   "quota exhausted, no code",
			status: 429,
			body:   said("", "", "You exceeded your current quota, please check your plan and billing details."),
			class:  parley.ClassRateLimit,
		},
		{
			name:   "quota of a minute",
			status: 429,
			body: `[{"error":{"code":429,"message":"You exceeded your current quota. Quota metric: requests per ` +
				`minute. Please retry in 12.5s.","status":"RESOURCE_EXHAUSTED"}}]`,
			class:     parley.ClassRateLimit,
			retryable: true,
			says:      "per minute",
		},
		{
			name:   "credit too low",
			status: 400,
			body:   said("invalid_request_error", "", "Your credit balance is too low to access the API."),
			class:  parley.ClassRateLimit,
		},
		{
			name:   "payment required",
			status: 402,
			body:   said("billing_error", "", "Payment needed"),
			class:  parley.ClassRateLimit,
		},
		{
			name:      "throttled with 400",
			status:    400,
			body:      said("", "Throttling.RateQuota", "Too many tokens, please wait before trying again."),
			class:     parley.ClassRateLimit,
			retryable: true,
		},
		{
			name:      "throttled with 503",
			status:    503,
			body:      said("", "", "Rate limit exceeded, context length 8192 queued"),
			class:     parley.ClassRateLimit,
			retryable: true,
		},
		{
			name:   "bad key",
			status: 401,
			body: said(
				"authentication_error",
				"invalid_api_key",
				"Incorrect API key provided: "+testKey+". You can find yours in the settings.",
			),
			class: parley.ClassAuth,
			says:  "Incorrect API key provided",
		},
		{
			name:   "no permission",
			status: 403,
			body:   said("permission_error", "", "Your key does not have permission to use this resource"),
			class:  parley.ClassAuth,
		},
		{
			name:   "blocked with 403",
			status: 403,
			body:   said("", "403", "Your chosen model requires moderation and your input was flagged"),
			class:  parley.ClassContentFilter,
		},
		{
			name:   "no such model",
			status: 404,
			body:   said("not_found_error", "model_not_found", "The model `gpt-x` does not exist"),
			class:  parley.ClassModel,
			says:   "gpt-x",
		},
		{
			name:   "context length",
			status: 400,
			body: said(
				"invalid_request_error",
				"context_length_exceeded",
				"This model's maximum context length is 8192 tokens.",
			),
			class: parley.ClassContextLength,
		},
		{
			name:   "prompt too long",
			status: 400,
			body:   said("invalid_request_error", "", "prompt is too long: 208310 tokens > 200000 maximum"),
			class:  parley.ClassContextLength,
		},
		{
			name:   "range of input",
			status: 400,
			body:   said("InternalError.Algo.InvalidParameter", "", "Range of input length should be [1, 30720]"),
			class:  parley.ClassContextLength,
		},
		{
			name:   "slots too small",
			status: 500,
			body:   said("exceed_context_size_error", "", "the request exceeds the available context size"),
			class:  parley.ClassContextLength,
		},
		{
			name:   "body too large",
			status: 413,
			body:   said("request_too_large", "", "Request exceeds the maximum size"),
			class:  parley.ClassContextLength,
		},
		{
			name:   "content filter",
			status: 400,
			body: said(
				"",
				"content_filter",
				"The response was filtered due to the prompt triggering the content management policy.",
			),
			class: parley.ClassContentFilter,
		},
		{
			name:   "inspection",
			status: 400,
			body: said(
				"data_inspection_failed",
				"data_inspection_failed",
				"Input data may contain inappropriate content.",
			),
			class: parley.ClassContentFilter,
		},
		{
			name:   "bad parameter",
			status: 400,
			body:   said("invalid_request_error", "", "temperature: must be at most 1"),
			class:  parley.ClassModel,
			says:   "temperature",
		},
		{
			name:   "unprocessable",
			status: 422,
			body:   `{"detail":[{"loc":["body","messages"],"msg":"field required"}]}`,
			class:  parley.ClassModel,
			says:   "field required",
		},
		{name: "timeout", status: 408, class: parley.ClassNetwork, retryable: true},
		{name: "conflict", status: 409, class: parley.ClassModel, retryable: true},
		{
			name:      "server error",
			status:    500,
			body:      said("api_error", "", "Internal server error"),
			class:     parley.ClassModel,
			retryable: true,
		},
		{
			name:      "bad gateway",
			status:    502,
			header:    head("Content-Type", "text/html"),
			body:      "<html><title>502 Bad Gateway</title></html>",
			class:     parley.ClassNetwork,
			retryable: true,
		},
		{
			name:       "unavailable",
			status:     503,
			header:     head("Retry-After", "3"),
			body:       "upstream connect error",
			class:      parley.ClassNetwork,
			retryable:  true,
			retryAfter: 3 * time.Second,
			says:       "upstream connect error",
		},
		{name: "gateway timeout", status: 504, class: parley.ClassNetwork, retryable: true},
		{
			name:      "overloaded",
			status:    529,
			body:      said("overloaded_error", "", "Overloaded"),
			class:     parley.ClassNetwork,
			retryable: true,
		},
		{
			name:   "a string for an error",
			status: 400,
			body:   `{"error":"model 'x' is not loaded"}`,
			class:  parley.ClassModel,
			says:   "not loaded",
		},
		{
			name:   "compressed unasked",
			status: 200,
			header: head("Content-Type", "text/event-stream", "Content-Encoding", "gzip"),
			body:   "\x1f\x8b",
			class:  parley.ClassModel,
			says:   "gzip",
		},
		{
			name:   "a document",
			status: 200,
			header: head("Content-Type", "text/html"),
			body:   "<html>Log in</html>",
			class:  parley.ClassModel,
			says:   "base URL",
		},
		{
			name:      "JSON",
			status:    200,
			header:    head("Content-Type", "application/json; charset=utf-8"),
			body:      `{"object":"chat.completion","choices":[],"error":null}`,
			class:     parley.ClassModel,
			retryable: true,
			says:      "one JSON document",
		},
		{
			name:   "broken JSON",
			status: 200,
			header: head("Content-Type", "application/json"),
			body:   `{"object":`,
			class:  parley.ClassModel,
			says:   "base URL",
		},
		{
			name:      "an error with 200",
			status:    200,
			header:    head("Content-Type", "application/json"),
			body:      said("overloaded_error", "", "Overloaded"),
			class:     parley.ClassNetwork,
			retryable: true,
		},
		{
			name:   "keys in the message",
			status: 400,
			body: said(
				"x",
				"",
				"Authorization: Bearer abcdef0123 and sk-proj-abc_123456789 and x-api-key: "+testKey+
					" and https://h/?key=abc123&x=1 and api key abcdefghijklmnop1234",
			),
			class: parley.ClassModel,
			says:  "redacted",
		},
	}
}

// secrets returns texts that must not appear in any message.
func secrets() []string {
	return []string{testKey, "abcdef0123", "abc_123456789", "abc123", "abcdefghijklmnop1234"}
}

func httpErrors(t *testing.T, format Format, factory Factory) {
	for _, c := range errorCases() {
		t.Run(c.name, func(t *testing.T) {
			model := factory(
				t,
				Options{
					APIKey: testKey,
					BaseURL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						_, _ = io.Copy(io.Discard, r.Body)
						w.Header().Set("Content-Type", "application/json")
						for name, values := range c.header {
							w.Header()[name] = values
						}
						w.WriteHeader(c.status)
						_, _ = io.WriteString(w, c.body)
					})),
				},
			)
			checkError(t, oneError(t, format, model), c)
		})
	}
	t.Run("redirects are not followed", func(t *testing.T) {
		other := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			t.Error("the redirect was followed")
		}))
		for _, status := range []int{301, 302, 307, 308} {
			model := factory(t, Options{APIKey: testKey, BaseURL: serve(t, http.RedirectHandler(other+"/x", status))})
			checkError(
				t,
				oneError(t, format, model),
				errorCase{status: status, class: parley.ClassNetwork, says: "base URL"},
			)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		model := factory(t, Options{APIKey: testKey, BaseURL: "http://127.0.0.1:1"})
		checkError(
			t,
			oneError(t, format, model),
			errorCase{class: parley.ClassNetwork, retryable: true, says: "could not be reached"},
		)
	})
	t.Run("hung up", func(t *testing.T) {
		model := factory(
			t,
			Options{APIKey: testKey, BaseURL: serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				panic(http.ErrAbortHandler)
			}))},
		)
		checkError(t, oneError(t, format, model), errorCase{class: parley.ClassNetwork, retryable: true})
	})
}

// oneError returns the error of an answer that consists of only that.
func oneError(t *testing.T, format Format, adapter model.Model) *model.Error {
	t.Helper()
	var got *model.Error
	for chunk, err := range adapter.Stream(t.Context(), encode(t, adapter, Request(format))) {
		if err == nil {
			t.Fatalf("a chunk: %+v", chunk)
		}
		if !errors.As(err, &got) {
			t.Fatalf("%v is not a ModelError", err)
		}
	}
	if got == nil {
		t.Fatal("no error")
	}
	return got
}

func checkError(t *testing.T, got *model.Error, want errorCase) {
	t.Helper()
	if got.Class != want.class || got.Retryable != want.retryable || got.Status != want.status ||
		got.RetryAfter != want.retryAfter {
		t.Errorf(
			"class %s, retryable %t, status %d, wait %s; want %s, %t, %d, %s",
			got.Class,
			got.Retryable,
			got.Status,
			got.RetryAfter,
			want.class,
			want.retryable,
			want.status,
			want.retryAfter,
		)
	}
	if !strings.Contains(got.Message, want.says) || got.Message == "" {
		t.Errorf("message %q does not say %q", got.Message, want.says)
	}
	for _, secret := range secrets() {
		if strings.Contains(got.Error(), secret) {
			t.Errorf("%q is in %q", secret, got.Error())
		}
	}
}
