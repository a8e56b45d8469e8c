package traces

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// sampler decides whether the trace of a call is recorded.
type sampler struct {
	root      uint64 // traces with lower IDs are recorded
	inherited bool   // follow the decision of the program that began the trace
}

const (
	allTraces = 1 << 63
	noTraces  = 0
)

// readSampler reads OTEL_TRACES_SAMPLER. After an error the returned sampler is usable too.
func readSampler() (sampler, error) {
	name, parent := strings.CutPrefix(strings.ToLower(strings.TrimSpace(os.Getenv("OTEL_TRACES_SAMPLER"))), "parentbased_")
	switch name {
	case "":
		if !parent {
			return sampler{allTraces, true}, nil
		}
	case "always_on":
		return sampler{allTraces, parent}, nil
	case "always_off":
		return sampler{noTraces, parent}, nil
	case "traceidratio":
		text := strings.TrimSpace(os.Getenv("OTEL_TRACES_SAMPLER_ARG"))
		if text == "" {
			return sampler{allTraces, parent}, nil
		}
		ratio, err := strconv.ParseFloat(text, 64)
		if err != nil || !(ratio >= 0 && ratio <= 1) {
			return sampler{allTraces, parent}, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %q, not a number from 0 to 1: all traces are sent", text)
		}
		return sampler{uint64(ratio * allTraces), parent}, nil
	}
	return sampler{allTraces, true}, fmt.Errorf("OTEL_TRACES_SAMPLER is %q, which is unknown: all traces are sent", os.Getenv("OTEL_TRACES_SAMPLER"))
}

// records reports whether a trace is recorded. above is the place that the call carried, if carried.
func (s sampler) records(above place, carried bool, trace [16]byte) bool {
	if s.inherited && carried {
		return above.flags&sampled != 0
	}
	return binary.BigEndian.Uint64(trace[8:])>>1 < s.root
}

// setOr returns the number in the first variable that is set, or standard if none is set or it is not a number.
func setOr(standard int, names ...string) int {
	for _, name := range names {
		if text := os.Getenv(name); text != "" {
			if n, err := strconv.Atoi(text); err == nil {
				return n
			}
			break
		}
	}
	return standard
}

// mostNumber is the largest accepted number, of milliseconds (a day) or of spans.
const mostNumber = 24 * 60 * 60 * 1000

// readLimits reads the variables of the batch span processor.
func readLimits() limits {
	number := func(name string, standard int) int {
		if n := setOr(standard, "OTEL_BSP_"+name); n > 0 && n <= mostNumber {
			return n
		}
		return standard
	}
	millis := func(name string, standard int) time.Duration {
		return time.Duration(number(name, standard)) * time.Millisecond
	}
	l := limits{millis("SCHEDULE_DELAY", 5000), millis("EXPORT_TIMEOUT", 30000), number("MAX_QUEUE_SIZE", 2048), number("MAX_EXPORT_BATCH_SIZE", 512)}
	l.most = min(l.most, l.queued)
	return l
}

// readBounds reads the limits of a span. Those for all telemetry are the fallback.
func readBounds() bounds {
	return bounds{
		attributes: setOr(128, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_ATTRIBUTE_COUNT_LIMIT"),
		characters: setOr(-1, "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"),
	}
}

// resource returns the attributes of the resource of the spans. The environment can override them.
func resource(version string) ([]attribute, error) {
	about := []attribute{
		{"service.name", "callgate"}, {"service.version", version},
		{"telemetry.sdk.language", "go"}, {"telemetry.sdk.name", "callgate"}, {"telemetry.sdk.version", version},
	}
	if list := strings.TrimSpace(os.Getenv("OTEL_RESOURCE_ATTRIBUTES")); list != "" {
		for pair := range strings.SplitSeq(list, ",") {
			key, value, ok := strings.Cut(pair, "=")
			if !ok {
				return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES is not a list of NAME=VALUE")
			}
			value = strings.TrimSpace(value)
			if plain, err := url.PathUnescape(value); err == nil {
				value = plain
			}
			about = put(about, attribute{strings.TrimSpace(key), value})
		}
	}
	if name := strings.TrimSpace(os.Getenv("OTEL_SERVICE_NAME")); name != "" {
		about = put(about, attribute{"service.name", name})
	}
	return about, nil
}
