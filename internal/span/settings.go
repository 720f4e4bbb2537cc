package span

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The defaults of OTEL_BSP_*, which the specification gives, and the bound of the queue.
const (
	defaultDelay   = 5 * time.Second
	defaultTimeout = 30 * time.Second
	defaultQueue   = 2048
	defaultBatch   = 512
	maxQueue       = 1 << 20
)

// Settings say which traces are recorded and how spans are batched.
type Settings struct {
	sampler        sampler
	delay, timeout time.Duration
	queue, batch   int
}

// ReadSettings reads OTEL_TRACES_SAMPLER with its argument and OTEL_BSP_* from the environment. Its error is a sentence
// for whoever set them.
func ReadSettings(env func(string) string) (Settings, error) {
	s := Settings{delay: defaultDelay, timeout: defaultTimeout, queue: defaultQueue, batch: defaultBatch}
	var err error
	if s.sampler, err = readSampler(env); err != nil {
		return Settings{}, err
	}
	for _, setting := range []struct {
		name  string
		bound int
		set   func(int)
	}{
		{"OTEL_BSP_SCHEDULE_DELAY", int(time.Hour.Milliseconds()), func(ms int) { s.delay = milliseconds(ms) }},
		{"OTEL_BSP_EXPORT_TIMEOUT", int(time.Hour.Milliseconds()), func(ms int) { s.timeout = milliseconds(ms) }},
		{"OTEL_BSP_MAX_QUEUE_SIZE", maxQueue, func(n int) { s.queue = n }},
		{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", maxQueue, func(n int) { s.batch = n }},
	} {
		text := strings.TrimSpace(env(setting.name))
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > setting.bound {
			return Settings{}, fmt.Errorf("%s must be a whole number from 1 to %d", setting.name, setting.bound)
		}
		setting.set(n)
	}
	s.batch = min(s.batch, s.queue)
	return s, nil
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func readSampler(env func(string) string) (sampler, error) {
	name := strings.ToLower(strings.TrimSpace(env("OTEL_TRACES_SAMPLER")))
	if name == "" {
		name = "parentbased_always_on"
	}
	root, parentBased := strings.CutPrefix(name, "parentbased_")
	switch root {
	case "always_on":
		return sampler{everyTrace, parentBased}, nil
	case "always_off":
		return sampler{0, parentBased}, nil
	case "traceidratio":
		share := 1.0
		if text := strings.TrimSpace(env("OTEL_TRACES_SAMPLER_ARG")); text != "" {
			var err error
			if share, err = strconv.ParseFloat(text, 64); err != nil || !(share >= 0 && share <= 1) {
				return sampler{}, errors.New("OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1")
			}
		}
		return sampler{uint64(share * everyTrace), parentBased}, nil
	}
	return sampler{}, errors.New("OTEL_TRACES_SAMPLER must be always_on, always_off or traceidratio, " +
		"or one of these after parentbased_")
}

// ReadResource adds what OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME say to the description of a process, whose
// attributes they replace.
func ReadResource(env func(string) string, resource ...Attribute) ([]Attribute, error) {
	described := &Span{context: Context{flags: sampledFlag}}
	described.Set(resource...)
	if text := strings.TrimSpace(env("OTEL_RESOURCE_ATTRIBUTES")); text != "" {
		for pair := range strings.SplitSeq(text, ",") {
			key, value, found := strings.Cut(pair, "=")
			if !found {
				return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES must be a list as key=value,key=value")
			}
			value = strings.TrimSpace(value)
			if plain, err := url.PathUnescape(value); err == nil {
				value = plain
			}
			described.Set(Key(strings.TrimSpace(key)).String(value))
		}
	}
	if name := strings.TrimSpace(env("OTEL_SERVICE_NAME")); name != "" {
		described.Set(Key("service.name").String(name))
	}
	return described.attributes, nil
}
