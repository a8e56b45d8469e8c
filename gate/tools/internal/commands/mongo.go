package commands

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate/tools/internal/wording"
	"callgate/permissions"
)

// Mongo returns the risk of a filter or a pipeline of MongoDB, in JSON or as a text that holds JSON. It reads if all
// its stages and operators only compute. If it writes a collection, it replaces what was there. Anything else is
// UNKNOWN.
func Mongo(value []byte) permissions.Risk {
	risk, d := permissions.ReadOnly, jsontext.NewDecoder(bytes.NewReader(value))
	for {
		t, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return risk
		}
		if err != nil || d.StackDepth() > maxMongoDepth {
			return risk.Worse(permissions.Unknown)
		}
		if t.Kind() != '"' {
			continue
		}
		text := t.String()
		switch kind, n := d.StackIndex(d.StackDepth()); {
		case d.StackDepth() == 0: // JSON within a text
			if text = strings.TrimSpace(text); text == "" || text[0] != '{' && text[0] != '[' {
				return permissions.Unknown
			}
			risk = risk.Worse(Mongo([]byte(text)))
		case kind != '{' || n%2 == 0 || !strings.HasPrefix(text, "$"): // not the name of an operator
		case mongoWrites[text[1:]]:
			risk = risk.Worse(permissions.Destructive)
		case !mongoReads[text[1:]]:
			risk = risk.Worse(permissions.Unknown)
		}
	}
}

const maxMongoDepth = 100

var mongoWrites = wording.Set("out merge")

// mongoReads are the stages and operators that compute something from documents, and the types of extended JSON.
// Operators that run a program ($where, $function, $accumulator) or tell about other users are not among them.
var mongoReads = wording.Set(`addFields bucket bucketAuto collStats count densify documents facet fill geoNear graphLookup group indexStats
	limit lookup match project redact replaceRoot replaceWith sample search searchMeta set setWindowFields skip sort sortByCount unionWith
	unset unwind vectorSearch
	eq ne gt gte lt lte in nin and or not nor exists type expr jsonSchema mod regex options text language caseSensitive diacriticSensitive
	all elemMatch size comment slice meta natural bitsAllClear bitsAllSet bitsAnyClear bitsAnySet
	geoWithin geoIntersects near nearSphere geometry maxDistance minDistance centerSphere center box polygon
	abs acos acosh add asin asinh atan atan2 atanh ceil cos cosh degreesToRadians divide exp floor ln log log10 multiply pow
	radiansToDegrees round sin sinh sqrt subtract tan tanh trunc sigmoid
	arrayElemAt arrayToObject concatArrays filter first firstN indexOfArray isArray last lastN map maxN minN objectToArray range reduce
	reverseArray sortArray zip allElementsTrue anyElementTrue setDifference setEquals setIntersection setIsSubset setUnion
	cmp cond ifNull switch let literal getField setField unsetField mergeObjects rand sampleRate toHashedIndexKey
	dateAdd dateDiff dateFromParts dateFromString dateSubtract dateToParts dateToString dateTrunc dayOfMonth dayOfWeek dayOfYear hour
	isoDayOfWeek isoWeek isoWeekYear millisecond minute month second week year tsIncrement tsSecond
	concat indexOfBytes indexOfCP ltrim regexFind regexFindAll regexMatch replaceAll replaceOne rtrim split strLenBytes strLenCP
	strcasecmp substr substrBytes substrCP toLower toUpper trim binarySize bsonSize
	convert isNumber toBool toDate toDecimal toDouble toInt toLong toObjectId toString toUUID bitAnd bitNot bitOr bitXor
	addToSet avg bottom bottomN max median min percentile push stdDevPop stdDevSamp sum top topN
	covariancePop covarianceSamp denseRank derivative documentNumber expMovingAvg integral linearFill locf rank shift minMaxScaler
	oid date numberLong numberInt numberDouble numberDecimal regularExpression binary uuid timestamp minKey maxKey symbol`)
