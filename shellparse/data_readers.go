package shellparse

import "cmp"

// readerRows are programs that show what is in the files that they are given. Each has a row of its own: an
// option that takes a value in one of them would hide a file from the look at another. Where manuals differ, an
// option is listed as one without a value, so that its value counts as a file. Operands is "r" where it says nothing.
var readerRows = []Program{
	{
		Name: "cat|rev|zcat|bzcat|xzcat|lzcat|zstdcat|lz4cat|gzcat|bzless|bzmore|xzless|xzmore|lzless|zstdless|zdiff|zcmp|bzdiff|" +
			"xzdiff|sum|tsort|mdcat|ul|col|colrm|uuencode|uudecode|groff|nroff|troff|pdftotext|dasel|pandoc",
	},
	{Name: "tac", Options: "-s,--separator="},
	{Name: "nl", Options: "-b,--body-numbering= -d,--section-delimiter= -f,--footer-numbering= -h,--header-numbering= -i= -l= -n,--number-format= -s,--number-separator= -v= -w="},
	{Name: "md5sum|sha1sum|sha224sum|sha256sum|sha384sum|sha512sum", Options: "-c,--check"},
	{Name: "b2sum", Options: "-l,--length= -c,--check"},
	{Name: "cksum", Options: "-a,--algorithm= -l,--length= -o= -c,--check"},
	{Name: "md5", Options: "-s,--string= -c="},
	{Name: "shasum", Options: "-a,--algorithm= -c,--check"},
	{Name: "head", Options: "-n,--lines= -c,--bytes="},
	{Name: "tail", Options: "-n,--lines= -c,--bytes= -s,--sleep-interval= --pid= --max-unchanged-stats="},
	{Name: "wc", Options: "--files0-from=l --total="},
	{Name: "od", Options: "-A,--address-radix= -j,--skip-bytes= -N,--read-bytes= -t,--format= -w? -S? --endian="},
	{Name: "hexdump", Options: "-e= -f=r -n,--length= -s,--skip= -L?"},
	{Name: "hexyl", Options: "-n,--length= -s,--skip= --color= --border="},
	{Name: "xxd", Options: "-c,-cols= -g,-groupsize= -l,-len= -o= -s,-seek= -n,-name= -R= -r -p", Operands: "2w"},
	{Name: "strings", Options: "-n,--bytes= -t,--radix= -e,--encoding= -T,--target= -s,--output-separator="},
	{Name: "fold", Options: "-w,--width="},
	{Name: "fmt", Options: "-w,--width= -g,--goal= -p,--prefix="},
	{Name: "expand|unexpand", Options: "-t,--tabs="},
	{Name: "pr", Options: "-h,--header= -l,--length= -o,--indent= -w,--width= -W,--page-width= -D,--date-format= -N,--first-line-number="},
	{Name: "paste", Options: "-d,--delimiters="},
	{Name: "join", Options: "-1= -2= -a= -e= -j= -o= -t= -v="},
	{Name: "comm", Options: "--output-delimiter="},
	{Name: "cmp", Options: "-n,--bytes= -i,--ignore-initial="},
	{Name: "diff3", Options: "-L,--label= --diff-program=x --strip-trailing-cr"},
	{Name: "column", Options: "-s,--separator= -o,--output-separator= -c,--output-width= -N,--table-columns= -R,--table-right= -T,--table-truncate= -H,--table-hide= -W,--table-wrap= -E,--table-noextreme="},
	{Name: "cut", Options: "-d,--delimiter= -f,--fields= -b,--bytes= -c,--characters= --output-delimiter="},
	{Name: "stat", Options: "-c,--format= --printf= --cached="},
	{Name: "look", Options: "-t,--terminate="},
	{Name: "ptx", Options: "-w,--width= -i=r -o=r -b=r -S= -W= -F= -M= -G,--traditional:!"},
	{Name: "ldd", Options: "-d -r -u -v"},
	{Name: "nm|size", Options: "-t= --plugin=x --target= -f="},
	{Name: "readelf", Options: "-x,--hex-dump= -p,--string-dump= -R= -z -P:! -w?"},
	{Name: "objdump", Options: "-j,--section= -m,--architecture= -b,--target= -M,--disassembler-options= --start-address= --stop-address= -d -D -S -t -T -h -p -r -x -s"},
	{Name: "plutil", Options: "-o=w -convert=m -insert=m -replace=m -remove=m -extract= -p -lint -r -s", Style: "long"},
	{Name: "glow", Options: "-s,--style= -w,--width= -p,--pager:x --config=x -t,--tui:x"},
	{Name: "gron", Options: "-u,--ungron -k,--insecure"},
	{Name: "numfmt", Options: "-d,--delimiter= --field= --format= --from= --from-unit= --grouping --header? --invalid= --padding= --round= --suffix= --to= --to-unit="},
	{Name: "iconv", Options: "-o,--output=w -f,--from-code= -t,--to-code= -c -l,--list -s"},
	{Name: "csvcut|csvlook|csvstat", Options: "-d,--delimiter= -q,--quotechar= -u,--quoting= -e,--encoding= -z,--maxfieldsize= -c,--columns= -C,--not-columns= --max-rows= --max-columns= --max-column-width= --freq-count= -y,--snifflimit="},
	{Name: "jless", Options: "-m,--mode= --scrolloff="},
	{Name: "tokei", Options: "-i,--input=r -o,--output= -s,--sort= -t,--type= -e,--exclude= -c,--columns="},
	{Name: "scc", Options: "-o,--output=w --format-multi=! -f,--format= -s,--sort= -i,--include-ext= -x,--exclude-ext= --exclude-dir= -M,--not-match="},
	{Name: "who|users"},
	{Name: "last", Options: "-f,--file=r -n,--limit= -t,--until= -s,--since= -p,--present= --time-format="},
	{Name: "lspci", Options: "-i=r -p=r -F=r -s= -d= -A= -H= -O=! -q:! -qq:! -Q:!"},
	{Name: "locate|mlocate|plocate", Options: "-d,--database=r -l,-n,--limit= -S", Operands: "1r"},
	{
		Name: "file",
		Options: "-m,--magic-file=x -C,--compile:! -F,--separator= -f,--files-from=l -P,--parameter= -e,--exclude= -b -i " +
			"-L -k -z -Z",
	},
	{
		Name: "bat|batcat",
		Options: "--pager=x -H,--highlight-line= -r,--line-range= -l,--language= --theme= --style= --file-name= --paging= " +
			"-m,--map-syntax= --tabs= --wrap= --color= --decorations= --italic-text= --terminal-width= --diff-context= " +
			"--ignored-suffix= --generate-config-file:! -d -p -n -A",
	},
	{
		Name: "xmllint",
		Options: "--schema=r --relaxng=r --schematron=r --output,-o=w --shell:x --xpath= --pattern= --encode= --maxmem= " +
			"--pretty= --dtdvalid=r --path=! --catalogs --load-trace --noout --format --html",
	},
	{
		Name:     "ag|ack",
		Options:  "-A= -B= -C= -m= -G= -p=r --ignore=n --ignore-dir=n --pager=x --ackrc=x",
		Operands: "1r",
	},
	{
		Name: "grep|egrep|fgrep|ggrep|rgrep|zgrep|bzgrep|xzgrep",
		Options: "-e,--regexp=c -f,--file=r -A,--after-context= -B,--before-context= -C,--context= -m,--max-count= " +
			"-d,--directories= -D,--devices= --include=n --exclude=n --exclude-dir=n --exclude-from=r --color? --label= " +
			"--binary-files=",
		Operands: "1r",
	},
	{
		Name: "rg",
		Options: "-e,--regexp=c -f,--file=r -g,--glob=n --iglob=n -t,--type=n -T,--type-not=n --type-add=n -A= -B= -C= " +
			"-m,--max-count= -M= -j,--threads= -d,--max-depth= -r,--replace= -E,--encoding= --sort= --sortr= " +
			"--color= --colors= --engine= --pre=x --pre-glob= --hostname-bin=x --hyperlink-format= --ignore-file=r " +
			"--max-filesize= -z,--search-zip:x",
		Operands: "1r",
	},
	{
		Name: "sort|gsort",
		Options: "-o,--output=w --compress-program=x -T,--temporary-directory=t --files0-from=l -k,--key= " +
			"-t,--field-separator= -S,--buffer-size= --parallel= --batch-size= --random-source=r --sort= -c? -m",
	},
	{
		Name:     "uniq",
		Options:  "-f,--skip-fields= -s,--skip-chars= -w,--check-chars= --group? --all-repeated?",
		Operands: "2w",
	},
	{
		Name:    "shuf",
		Options: "-o,--output=w -n,--head-count= -i,--input-range= --random-source=r -e,--echo",
	},
	{
		Name: "diff|colordiff|gdiff",
		Options: "-o,--output=w --diff-program=x -x,--exclude= -X,--exclude-from=r -I,--ignore-matching-lines= -U,--unified= -C,--context= " +
			"-W,--width= -F,--show-function-line= --label= -L= --from-file=r --to-file=r -S,--starting-file= --color? " +
			"--palette= -D,--ifdef= --tabsize= --horizon-lines= -l,--paginate:x",
	},
	{
		Name:    "sdiff",
		Options: "-o,--output=w --diff-program=x -I,--ignore-matching-lines= -w,--width= -l -s",
	},
	{
		Name:    "base64|base32|basenc|gbase64",
		Options: "-o,--output=w -i,--input=r -w,--wrap= -b= -D -d,--decode",
	},
	{
		Name: "less|more|most|zmore|zless|lv",
		Options: "-k,--lesskey-file=x --lesskey-src=x --lesskey-content=x -o,--log-file=w -O,--LOG-FILE=w -t=r " +
			"-T,--tag-file=r -p,--pattern= -P= -j= -x= -y= -z= -b= -h= -D=",
	},
	{
		Name: "man|apropos|whatis",
		Options: "-P,--pager=x -H,--html?x -C,--config-file=x -B,--browser=x -p,--preprocessor=x -M,--manpath=x " +
			"-m,--systems= -s,-S,--sections= -L,--locale= -r,--prompt= -R,--recode= -E,--encoding= -l,--local-file:x " +
			"-T,--troff-device?x",
	},
	{
		Name: "info",
		Options: "-f,--file=r -o,--output=w --dribble=w --restore=x --init-file=x -d,--directory=r -n,--node= -k,--apropos= " +
			"-v,--variable=! --index-search=",
	},
	{
		Name: "openssl",
		Options: "-out=w -writerand=w -engine=x -provider=x -provider-path=x -config=x -in=r -inkey=r -key=r -passin= " +
			"-passout= -text -noout -days= -subj= -connect=! -servername= -CAfile=r -CApath=r -keyout=w -starttls= " +
			"-CA=r -CAkey=r -CAserial=w -CAcreateserial:! -signkey=r -extfile=r -rand=r -sign=r -verify=r -prverify=r " +
			"-signature=r -hmac= -inform= -outform= -keyform= -nameopt= -oid=r -genconf=r " +
			"-proxy=! -accept=! -WWW:! -HTTP:! -www:!",
		Style:    "long",
		Operands: "1r",
	},
}

// readers returns the rows above with what all of them have.
func readers() []Program {
	list := make([]Program, len(readerRows))
	for i, p := range readerRows {
		p.Operands = cmp.Or(p.Operands, "r")
		p.Options += " <value>:r"
		list[i] = p
	}
	return list
}
