#!/usr/bin/env python3
"""How often the main loop of an FP32 kernel waits for a register port.

A Hopper register file has two banks (by parity of the register), one read each a clock. An FFMA reads three registers,
unless the instruction before it carried .reuse on the same operand slot. Counted from the first LDS on.
usage: check_register_banks.py SASS FFMAS LIMIT
SASS: output of cuobjdump -arch sm_90a -sass; FFMAS: of the loop; LIMIT: part of them that may wait
"""
import re
import sys

FFMA = re.compile(r"FFMA (R\d+|RZ), (R\d+|RZ)(\.reuse)?, (R\d+|RZ)(\.reuse)?, (R\d+|RZ)(\.reuse)?")


def bank(register):
    return None if register == "RZ" else int(register[1:]) % 2


def main_loop(text):
    kernel = text[text.index("simt_gemm"):]
    end = kernel.find("Function :")
    lines = [l for l in kernel[:end].split("\n") if re.search(r"/\*[0-9a-f]{4,5}\*/\s+[@A-Z]", l)]
    return lines[next(i for i, l in enumerate(lines) if "LDS" in l):]


def waiting(lines, count):
    kept, multiplications, waits = {}, 0, 0
    for line in lines:
        match = FFMA.search(line)
        if not match:
            kept = {}
            continue
        multiplications += 1
        if multiplications > count:
            return waits
        operands = [(match.group(2), match.group(3)), (match.group(4), match.group(5)), (match.group(6), match.group(7))]
        banks = [bank(r) for slot, (r, _) in enumerate(operands) if kept.get(slot) != r]
        waits += max(banks.count(0), banks.count(1)) > 1
        kept = {slot: r for slot, (r, reuse) in enumerate(operands) if reuse}
    return waits


count, limit = int(sys.argv[2]), float(sys.argv[3])
waits = waiting(main_loop(open(sys.argv[1]).read()), count)
print(f"{waits} of {count} multiplications wait for a register port; at most {limit:.0%} of them may")
sys.exit(waits > limit * count)
