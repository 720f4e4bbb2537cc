package worker

import (
	"sync"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/setting"
)

// maxLayers bounds the middleware that a worker caches.
const maxLayers = 64

// layerCache caches the middleware of agents and sessions: their patterns stay the same from turn to turn, and
// compiling them takes longer than using them.
type layerCache struct {
	mu    sync.Mutex // guards ready
	ready map[string]prompt.Layers
}

// layersOf returns the middleware around a model's calls in a session of an agent.
func (w *Worker) layersOf(session *parley.Session, agent *parley.Agent, info *model.Info) (prompt.Layers, error) {
	settings := parley.ValueOf(setting.Middleware.Nearest(&agent.Settings, &session.Settings))
	if settings.IsZero() && !info.ThinkTags && len(w.options.Redact) == 0 && len(w.options.Middleware) == 0 {
		return prompt.Layers{}, nil
	}
	text, err := settings.MarshalJSON()
	if err != nil {
		return prompt.Layers{}, err
	}
	key := string(text)
	if info.ThinkTags {
		key += "think"
	}
	c := &w.layers
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.ready[key]; ok {
		return found, nil
	}
	made, err := prompt.NewLayers(
		prompt.LayersInput{
			Settings:  settings,
			ThinkTags: info.ThinkTags,
			Redact:    w.options.Redact,
			Own:       w.options.Middleware,
		},
	)
	if err != nil {
		return prompt.Layers{}, err
	}
	if c.ready == nil || len(c.ready) >= maxLayers {
		c.ready = map[string]prompt.Layers{}
	}
	c.ready[key] = made
	return made, nil
}

// encode passes a request through the turn's middleware and encodes it. The manifest gets what is needed to repeat
// this; the filter, if not nil, reads the answers. CodeInvalid means that the request cannot be expressed.
func (c *claimed) encode(
	request *model.Request,
	manifest *parley.Manifest,
) (model.EncodedRequest, model.AnswerFilter, error) {
	key, ttl := "", parley.CacheTTL("")
	if c.info.Caching {
		group := prompt.CacheGroupOf(&c.claim.Session, request.Model, request.System, c.definitions.Hash())
		key, ttl = c.w.cacheKeys.of(group, c.fence.SessionID, c.w.options.now()), c.ttl
	}
	return c.encodeWith(key, ttl, request, manifest)
}

// encodeWith is encode under a given cache key, "" for none, and lifetime.
func (c *claimed) encodeWith(
	key string,
	ttl parley.CacheTTL,
	request *model.Request,
	manifest *parley.Manifest,
) (model.EncodedRequest, model.AnswerFilter, error) {
	request.CacheKey, request.CacheTTL = key, ttl
	manifest.CacheKey, manifest.CacheTTL, manifest.Middleware = key, ttl, c.layers.Names()
	exchange := model.Exchange{WorkspaceID: c.fence.WorkspaceID, SessionID: c.fence.SessionID}
	filter, err := c.layers.Request(c.ctx, exchange, request)
	if err != nil {
		return model.EncodedRequest{}, nil, err
	}
	encoded, err := c.model.Encode(*request)
	return encoded, filter, err
}
