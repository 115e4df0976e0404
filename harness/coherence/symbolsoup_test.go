package coherence

import "testing"

func TestSymbolSoup(t *testing.T) {
	const noise = `>>>(-4&?"3>%A=29..%&*B18)A2(8/@@:"+!@=:4*;795(6!56:(-!318%:9%8<2$2'$3*02<A5-8<":.&$;=)3@$)+?;63411:04?`
	tryCheck(t, "symbol-soup",
		try{"low ids", said(noise), true},
		try{"after good text", said(prose + " " + noise), true},
		try{"80 characters", said(noise[:80]), true},
		try{"79 characters", said(noise[:79]), false},
		try{"eleven kinds of signs", said("1-2+3*4/5%6=7<8>9&0$1@2+1-2/3%4*5=6>7<8$9@0&1+3-1*2%5/4=6<7>8@9$0&1-3+2/1%4*7=6>5<8"), false},
		try{"twelve kinds of signs", said("1-2+3*4/5%6=7<8>9&0$1@2+1-2/3%4*5=6>7<8$9@0&1+3-1*2%5/4=6<7>8@9$0&1-3+2/1%4*7=6>5<8#"), true},
		try{"with letters, brackets unmatched", said(`a)B}c]-=+*/&%$d(e{f[!@#g?h:i;j,k.l<m>n)o}p]-=+*/&%$q(r{s[!@#t?u:v;w,x.y<z>a)b}c]-=+*/&%$`), true},
		try{"a regular expression", said(`^(?:[A-Z0-9._%+-]+)@(?:[A-Z0-9-]+\.)+[A-Z]{2,}$|^\s*$|(?<=\d)(?=(?:\d{3})+\b)^(?:[A-Z]{2})$`), false},
		try{"digits", said("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"), false},
		try{"Morse", said("... --- ... / .... . .-.. .--. / -- . / .--. .-.. . .- ... . / ... --- ... / ... --- ..."), false},
		try{"a calculation", said("((12 + 7) * 3 - 4) / 5 = 10.6, 10.6 * 2 = 21.2, 21.2 - 0.2 = 21, 21 / 7 = 3, 3 * 3 = 9"), false},
		try{"the baseline does it too", beside(noise, noise), false},
	)
	tryTags(t, "symbol-soup", noise)
}
