package openai

import (
	"example.org/parley"
	"example.org/parley/llm/wire"
)

// finishBroken stands for reasons that report a failure of the server.
const finishBroken parley.FinishReason = "broken"

// finishOf maps the finish reasons of OpenAI and of servers with their own.
func finishOf(reason string) parley.FinishReason {
	switch reason {
	case "tool_calls", "function_call":
		return parley.FinishToolCalls
	case "length", "max_tokens", "model_length":
		return parley.FinishLength
	case "content_filter", "refusal", "sensitive", "safety":
		return parley.FinishRefusal
	case "error", "network_error", "abort", "insufficient_system_resource":
		return finishBroken
	default:
		return parley.FinishStop
	}
}

// readUsage reads a usage object; fields that it does not name stay unknown, and null changes nothing.
func (d *decoder) readUsage() {
	var u parley.Usage
	each(&d.scan, func(name string, s *wire.Scanner) bool {
		switch name {
		case "prompt_tokens":
			u.InputTokens = count(s)
		case "completion_tokens":
			u.OutputTokens = count(s)
		case "prompt_cache_hit_tokens", "cached_tokens": // DeepSeek, Moonshot
			if n := count(s); u.CachedTokens == nil {
				u.CachedTokens = n
			}
		case "prompt_tokens_details":
			each(s, func(name string, s *wire.Scanner) bool {
				switch name {
				case "cached_tokens":
					u.CachedTokens = count(s)
				case "cache_write_tokens", "cache_creation_input_tokens": // OpenRouter, DashScope
					u.CacheWriteTokens = count(s)
				default:
					return false
				}
				return true
			})
		case "completion_tokens_details":
			each(s, func(name string, s *wire.Scanner) bool {
				if name != "reasoning_tokens" {
					return false
				}
				u.ReasoningTokens = count(s)
				return true
			})
		default:
			return false
		}
		return true
	})
	if !u.IsZero() {
		d.usage = u
	}
}

// UsageOf implements wire.Decoder.
func (d *decoder) UsageOf(document []byte) parley.Usage {
	d.scan.Reset(document)
	each(&d.scan, func(name string, _ *wire.Scanner) bool {
		if name != "usage" {
			return false
		}
		d.readUsage()
		return true
	})
	return d.usage
}

// each walks the fields of an object; take reports whether it consumed the value.
func each(s *wire.Scanner, take func(name string, s *wire.Scanner) bool) {
	for more := s.Object(); more; {
		var name []byte
		if name, more = s.Field(); more && !take(string(name), s) {
			s.Skip()
		}
	}
}

// count reads a number of tokens, nil for null and nonsense.
func count(s *wire.Scanner) *int64 {
	n, ok := s.Tokens()
	if !ok {
		return nil
	}
	return &n
}
