package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// cureOf returns how to write a value in the file that does not have its key's type, or "" if it has.
func cureOf(from, to reflect.Type, value any) string {
	switch {
	case to == reflect.TypeFor[time.Duration]():
		if from.Kind() != reflect.String && from != to && !zero(value) {
			return cures["duration"]
		}
	case to.Kind() == reflect.Bool && (from.Kind() == reflect.String && zero(value) || !isKindOrText(from, reflect.Bool)):
		return cures["bool"]
	case to.Kind() == reflect.Int && (from.Kind() == reflect.String && zero(value) || !isKindOrText(from, reflect.Int)):
		return cures["int"]
	case to.Kind() == reflect.String && isScalar(from):
		return fmt.Sprintf("this is text: put it in quotes, %q", fmt.Sprint(value))
	case to.Kind() == reflect.Slice && (isScalar(from) || to.Elem().Kind() == reflect.String && from.Kind() == reflect.Map):
		return "write a list"
	}
	return ""
}

// ofItsType refuses a value in the file that the decoder would convert to its key's type, and so to something that
// nobody wrote: metrics: 3 to true, args: [true] to ["1"], timeout: 5 to nanoseconds. It accepts text, because
// variables are text: the decoder parses it, and refuses what it cannot parse.
func ofItsType(from, to reflect.Type, value any) (any, error) {
	cure := cureOf(from, to, value)
	switch {
	case cure == "":
		return value, nil
	case isScalar(from):
		return nil, fmt.Errorf("%v: %s", value, cure)
	}
	return nil, errors.New(cure)
}

// inMilliseconds lists the keys for which other programs use a bare number of milliseconds.
var inMilliseconds = []string{"timeout", "verify.timeout"}

// leastMilliseconds is the smallest bare number that counts as milliseconds. A person who writes timeout: 30 means
// seconds, and is told to write 30s.
const leastMilliseconds = 1000

// readMilliseconds reads a bare number as milliseconds, for the keys in inMilliseconds.
func (s *Settings) readMilliseconds() {
	for _, key := range inMilliseconds {
		n, err := strconv.Atoi(fmt.Sprint(s.viper.Get(key)))
		if err == nil && n >= leastMilliseconds {
			s.viper.Set(key, time.Duration(n)*time.Millisecond)
		}
	}
}

// zero reports whether the value is the zero value of its type: a bare 0 is a duration too.
func zero(value any) bool { return reflect.ValueOf(value).IsZero() }

// isKindOrText reports whether values of the type are of the kind, or text.
func isKindOrText(t reflect.Type, kind reflect.Kind) bool {
	return t.Kind() == kind || t.Kind() == reflect.String
}

// isScalar reports whether values of the type are single words that are not text.
func isScalar(t reflect.Type) bool {
	return t.Kind() == reflect.Bool || t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64
}
