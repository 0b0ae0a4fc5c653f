# Lines of words, counted and joined in arrays.
{
    for (at = 2; at <= NF; at++) {
        count[$at]++
        if (length(lines[$at]) < 400)
            lines[$at] = lines[$at] "," $1
        if (at > 2)
            pairs[$(at - 1), $at] = substr(toupper($at), 2) $1
    }
    total += length($0)
}
END {
    for (word in count) {
        words++
        sum += count[word] * length(lines[word])
    }
    for (pair in pairs)
        letters += length(pairs[pair])
    print NR, total, words, sum, letters
}
