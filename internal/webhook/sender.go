// Package webhook sends events to the endpoints of webhooks, signed as Standard Webhooks says
// (https://www.standardwebhooks.com, version 1.0.0).
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/internal/netguard"
)

const (
	// Patience is how long an endpoint may take to answer.
	Patience = 10 * time.Second

	// maxAnswerBytes is how much of an answer's body is read, so that its connection can be used again. Nobody sees it.
	maxAnswerBytes = 64 << 10
)

// Secret returns a signing secret as people see it.
func Secret(secret []byte) string {
	return parley.WebhookSecretPrefix + base64.StdEncoding.EncodeToString(secret)
}

// MessageID returns the header webhook-id of a delivery.
func MessageID(delivery parley.ID) string { return "msg_" + delivery.String() }

// Sign returns the header webhook-signature of a request: a signature for each secret, separated by spaces.
func Sign(id string, at time.Time, body []byte, secrets ...[]byte) string {
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(signatures, " ")
}

// Outcome is what came of a request.
type Outcome struct {
	Status int    // of the answer; 0: there was none
	Error  string // "" if the endpoint took it, which any status from 200 to 299 says
	Took   time.Duration
}

// OK reports whether the endpoint took the request.
func (o *Outcome) OK() bool { return o.Error == "" }

// Notification is what a push notification of another protocol says about an event of its turn; nil for nothing.
type Notification func(turn parley.ID, e *parley.Event) []byte

// Sender sends requests. It is safe for concurrent use.
type Sender struct {
	client *http.Client
	notify Notification
}

// NewSender makes a Sender; allowPrivate lets it send to loopback and private networks too. Redirects are not followed.
// notify makes the bodies of push notifications; without it none are sent.
func NewSender(allowPrivate bool, notify Notification) *Sender {
	client := netguard.NewClient(netguard.Options{AllowPrivate: allowPrivate})
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Sender{client, notify}
}

// Body returns what is posted about an event to a webhook; nil for nothing.
func (s *Sender) Body(w *parley.Webhook, e *parley.Event) []byte {
	switch {
	case w.Push == nil:
		return event.AppendFrame(nil, e)
	case s.notify == nil:
		return nil
	}
	return s.notify(w.TurnID, e)
}

// Close closes idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Send posts a body to a webhook, with an id that is the same for every attempt.
func (s *Sender) Send(ctx context.Context, w *parley.Webhook, id string, body []byte) Outcome {
	ctx, stop := context.WithTimeout(ctx, Patience)
	defer stop()
	began := time.Now()
	status, err := s.post(ctx, w, id, body, began)
	outcome := Outcome{Status: status, Took: time.Since(began)}
	if err != nil {
		outcome.Error = explain(ctx, err)
	}
	return outcome
}

func (s *Sender) post(ctx context.Context, w *parley.Webhook, id string, body []byte, at time.Time) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	secrets := [][]byte{w.Secret}
	if len(w.Previous) > 0 && w.PreviousUntil > parley.Time(at.UnixMilli()) {
		secrets = append(secrets, w.Previous)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "Parley-Webhooks/1", "Webhook-Id": id,
		"Webhook-Timestamp": strconv.FormatInt(at.Unix(), 10),
		"Webhook-Signature": Sign(id, at, body, secrets...),
	} {
		request.Header.Set(name, value)
	}
	if push := w.Push; push != nil {
		request.Header.Set("Content-Type", "application/a2a+json")
		if push.Token != "" { // the protocol's packages look under either name
			request.Header.Set("X-A2A-Notification-Token", push.Token)
			request.Header.Set("A2A-Notification-Token", push.Token)
		}
		if push.Scheme != "" {
			request.Header.Set("Authorization", push.Scheme+" "+push.Credentials)
		}
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswerBytes)) // the status alone counts
	_ = response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return response.StatusCode, &statusError{response.StatusCode}
	}
	return response.StatusCode, nil
}

// explain says why a request failed, in our own words: the error may name the URL, which may hold secrets, this
// network's resolver, or what another service says on a port that speaks no HTTP.
func explain(ctx context.Context, err error) string {
	var refused *statusError
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var dial *net.OpError
	switch {
	case errors.As(err, &refused):
		return refused.Error()
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("the endpoint did not answer within %s", Patience)
	case errors.Is(err, netguard.ErrPrivate):
		return netguard.ErrPrivate.Error() + "; the operator can allow it with webhooks: {allow_private: true}"
	case errors.As(err, &name):
		return "the endpoint's name could not be resolved"
	case errors.As(err, &certificate):
		return "the endpoint's certificate is not valid for its name, or not trusted"
	case errors.As(err, &dial) && dial.Op == "dial":
		return "the endpoint could not be connected to"
	}
	return "the endpoint's answer could not be read"
}

// statusError is an answer other than 200 to 299.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("the endpoint answered %d", e.status) }
