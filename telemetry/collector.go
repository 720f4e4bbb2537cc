package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
)

// The bounds of exports.
const (
	sendTime     = 10 * time.Second // one request, unless OTEL_EXPORTER_OTLP_TIMEOUT says otherwise
	sendTries    = 4
	sendPause    = time.Second // doubled with each try
	longestPause = 30 * time.Second
	refusalBytes = 256 // of a collector's answer, for the log
)

// collector sends spans to an OTLP endpoint over HTTP as protobuf. It replaces the OpenTelemetry project's own client,
// which would add all of gRPC (ADR 0016).
type collector struct {
	url     string
	headers http.Header
	gzip    bool
	http    *http.Client
	pause   func(ctx context.Context, d time.Duration) error
}

// newCollector reads the OTEL_EXPORTER_OTLP_* settings; nil without an endpoint.
func newCollector(env func(string) string) (*collector, error) {
	c := &collector{headers: http.Header{"Content-Type": {"application/x-protobuf"}}, pause: pause}
	if err := c.address(env); err != nil || c.url == "" {
		return nil, err
	}
	if err := c.dress(env); err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		TLSHandshakeTimeout: sendTime,
		IdleConnTimeout:     time.Minute,
		ForceAttemptHTTP2:   true,
	}
	var err error
	if transport.TLSClientConfig, err = certificates(env); err != nil {
		return nil, err
	}
	timeout := sendTime
	if v := setting(env, "TIMEOUT"); v != "" {
		ms, err := strconv.Atoi(v)
		if err != nil || ms <= 0 {
			return nil, parley.Errorf(parley.CodeInvalid, "OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds")
		}
		timeout = time.Duration(ms) * time.Millisecond
	}
	c.http = &http.Client{Transport: transport, Timeout: timeout}
	return c, nil
}

// setting returns the value for traces, else for all of OTLP.
func setting(env func(string) string, name string) string {
	if v := env("OTEL_EXPORTER_OTLP_TRACES_" + name); v != "" {
		return v
	}
	return env("OTEL_EXPORTER_OTLP_" + name)
}

func (c *collector) address(env func(string) string) error {
	endpoint := setting(env, "ENDPOINT")
	if endpoint == "" {
		return nil
	}
	parsed, err := url.Parse(endpoint)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return parley.Errorf(
			parley.CodeInvalid,
			"OTEL_EXPORTER_OTLP_ENDPOINT must be an address that begins with http:// or https://, for example "+
				"http://localhost:4318",
		)
	}
	if env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" { // used unchanged
		parsed = parsed.JoinPath("v1/traces")
	}
	c.url = parsed.String()
	return nil
}

// dress reads the settings of requests: headers, protocol, compression.
func (c *collector) dress(env func(string) string) error {
	if protocol := setting(env, "PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return parley.Errorf(
			parley.CodeInvalid,
			"OTEL_EXPORTER_OTLP_PROTOCOL is %q: Parley sends traces only by http/protobuf; give the collector's "+
				"HTTP port, 4318 by default",
			parley.Clip(protocol, 32),
		)
	}
	switch compression := setting(env, "COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		c.gzip = true
	default:
		return parley.Errorf(
			parley.CodeInvalid,
			"OTEL_EXPORTER_OTLP_COMPRESSION is %q but must be gzip or none",
			parley.Clip(compression, 32),
		)
	}
	for pair := range strings.SplitSeq(setting(env, "HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); name == "" && !ok {
			continue
		}
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || err != nil { // the pair may be a secret: do not repeat it
			return parley.Errorf(
				parley.CodeInvalid,
				"OTEL_EXPORTER_OTLP_HEADERS must be name=value pairs separated by commas",
			)
		}
		c.headers.Set(name, value)
	}
	return nil
}

// certificates returns those named by the settings; nil for the system's.
func certificates(env func(string) string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	trusted, own, key := setting(env, "CERTIFICATE"), setting(env, "CLIENT_CERTIFICATE"), setting(env, "CLIENT_KEY")
	if trusted != "" {
		pem, err := os.ReadFile(trusted) //nolint:gosec // the operator's own setting
		config.RootCAs = x509.NewCertPool()
		if err != nil || !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, parley.WrapError(
				parley.CodeInvalid,
				err,
				"OTEL_EXPORTER_OTLP_CERTIFICATE does not name a file of certificates",
			)
		}
	}
	if own != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(own, key)
		if err != nil {
			return nil, parley.WrapError(
				parley.CodeInvalid,
				err,
				"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY do not name a matching pair of files",
			)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// close ends the idle connections. There is none before the first upload.
func (c *collector) close() { c.http.CloseIdleConnections() }

// upload sends a batch, as encodeSpans returns it, and tries again where the failure may pass.
func (c *collector) upload(ctx context.Context, body []byte) error {
	if c.gzip {
		var err error
		if body, err = compressed(body); err != nil {
			return err
		}
	}
	for try, wait := 1, sendPause; ; try, wait = try+1, 2*wait {
		again, floor, err := c.send(ctx, body)
		if err == nil || !again || try == sendTries {
			return err
		}
		if broken := c.pause(ctx, min(max(wait, floor), longestPause)); broken != nil {
			return errors.Join(err, broken)
		}
	}
}

func compressed(body []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

// send makes one request. again says that another may follow, not before floor.
func (c *collector) send(ctx context.Context, body []byte) (again bool, floor time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	request.Header = c.headers.Clone()
	if c.gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return ctx.Err() == nil, 0, err
	}
	said, _ := io.ReadAll(io.LimitReader(response.Body, refusalBytes)) // only for the log
	_ = response.Body.Close()                                          // discards the rest
	switch response.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return false, 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
			floor = time.Duration(seconds) * time.Second
		}
	}
	return again, floor, fmt.Errorf("the collector answered %s: %q", response.Status, said)
}

// pause waits; the error is ctx's.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
