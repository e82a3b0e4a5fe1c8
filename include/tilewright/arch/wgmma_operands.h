// Operand lists for the inline PTX of wgmma: an accumulator has between 2 and 128 registers, and an asm
// statement must spell out each of them. Only arch/wgmma_issue.h includes this.
//
// TILEWRIGHT_PTX_<n>     "%0, %1, ... %<n-1>"
// TILEWRIGHT_ACC_<n>(c)  c(d[0]), c(d[1]), ... c(d[n-1]): the same registers as asm operands of constraint c
// TILEWRIGHT_COUNTS_*(X) X(<n>, n, n+1, ... n+7) for each legal register count: the numbers of the operands
// that follow
#pragma once

// clang-format off

#define TILEWRIGHT_PTX_2 "%0, %1"
#define TILEWRIGHT_PTX_4 TILEWRIGHT_PTX_2 ", %2, %3"
#define TILEWRIGHT_PTX_6 TILEWRIGHT_PTX_4 ", %4, %5"
#define TILEWRIGHT_PTX_8 TILEWRIGHT_PTX_6 ", %6, %7"
#define TILEWRIGHT_PTX_10 TILEWRIGHT_PTX_8 ", %8, %9"
#define TILEWRIGHT_PTX_12 TILEWRIGHT_PTX_10 ", %10, %11"
#define TILEWRIGHT_PTX_14 TILEWRIGHT_PTX_12 ", %12, %13"
#define TILEWRIGHT_PTX_16 TILEWRIGHT_PTX_14 ", %14, %15"
#define TILEWRIGHT_PTX_18 TILEWRIGHT_PTX_16 ", %16, %17"
#define TILEWRIGHT_PTX_20 TILEWRIGHT_PTX_18 ", %18, %19"
#define TILEWRIGHT_PTX_22 TILEWRIGHT_PTX_20 ", %20, %21"
#define TILEWRIGHT_PTX_24 TILEWRIGHT_PTX_22 ", %22, %23"
#define TILEWRIGHT_PTX_26 TILEWRIGHT_PTX_24 ", %24, %25"
#define TILEWRIGHT_PTX_28 TILEWRIGHT_PTX_26 ", %26, %27"
#define TILEWRIGHT_PTX_30 TILEWRIGHT_PTX_28 ", %28, %29"
#define TILEWRIGHT_PTX_32 TILEWRIGHT_PTX_30 ", %30, %31"
#define TILEWRIGHT_PTX_34 TILEWRIGHT_PTX_32 ", %32, %33"
#define TILEWRIGHT_PTX_36 TILEWRIGHT_PTX_34 ", %34, %35"
#define TILEWRIGHT_PTX_38 TILEWRIGHT_PTX_36 ", %36, %37"
#define TILEWRIGHT_PTX_40 TILEWRIGHT_PTX_38 ", %38, %39"
#define TILEWRIGHT_PTX_42 TILEWRIGHT_PTX_40 ", %40, %41"
#define TILEWRIGHT_PTX_44 TILEWRIGHT_PTX_42 ", %42, %43"
#define TILEWRIGHT_PTX_46 TILEWRIGHT_PTX_44 ", %44, %45"
#define TILEWRIGHT_PTX_48 TILEWRIGHT_PTX_46 ", %46, %47"
#define TILEWRIGHT_PTX_50 TILEWRIGHT_PTX_48 ", %48, %49"
#define TILEWRIGHT_PTX_52 TILEWRIGHT_PTX_50 ", %50, %51"
#define TILEWRIGHT_PTX_54 TILEWRIGHT_PTX_52 ", %52, %53"
#define TILEWRIGHT_PTX_56 TILEWRIGHT_PTX_54 ", %54, %55"
#define TILEWRIGHT_PTX_58 TILEWRIGHT_PTX_56 ", %56, %57"
#define TILEWRIGHT_PTX_60 TILEWRIGHT_PTX_58 ", %58, %59"
#define TILEWRIGHT_PTX_62 TILEWRIGHT_PTX_60 ", %60, %61"
#define TILEWRIGHT_PTX_64 TILEWRIGHT_PTX_62 ", %62, %63"
#define TILEWRIGHT_PTX_66 TILEWRIGHT_PTX_64 ", %64, %65"
#define TILEWRIGHT_PTX_68 TILEWRIGHT_PTX_66 ", %66, %67"
#define TILEWRIGHT_PTX_70 TILEWRIGHT_PTX_68 ", %68, %69"
#define TILEWRIGHT_PTX_72 TILEWRIGHT_PTX_70 ", %70, %71"
#define TILEWRIGHT_PTX_74 TILEWRIGHT_PTX_72 ", %72, %73"
#define TILEWRIGHT_PTX_76 TILEWRIGHT_PTX_74 ", %74, %75"
#define TILEWRIGHT_PTX_78 TILEWRIGHT_PTX_76 ", %76, %77"
#define TILEWRIGHT_PTX_80 TILEWRIGHT_PTX_78 ", %78, %79"
#define TILEWRIGHT_PTX_82 TILEWRIGHT_PTX_80 ", %80, %81"
#define TILEWRIGHT_PTX_84 TILEWRIGHT_PTX_82 ", %82, %83"
#define TILEWRIGHT_PTX_86 TILEWRIGHT_PTX_84 ", %84, %85"
#define TILEWRIGHT_PTX_88 TILEWRIGHT_PTX_86 ", %86, %87"
#define TILEWRIGHT_PTX_90 TILEWRIGHT_PTX_88 ", %88, %89"
#define TILEWRIGHT_PTX_92 TILEWRIGHT_PTX_90 ", %90, %91"
#define TILEWRIGHT_PTX_94 TILEWRIGHT_PTX_92 ", %92, %93"
#define TILEWRIGHT_PTX_96 TILEWRIGHT_PTX_94 ", %94, %95"
#define TILEWRIGHT_PTX_98 TILEWRIGHT_PTX_96 ", %96, %97"
#define TILEWRIGHT_PTX_100 TILEWRIGHT_PTX_98 ", %98, %99"
#define TILEWRIGHT_PTX_102 TILEWRIGHT_PTX_100 ", %100, %101"
#define TILEWRIGHT_PTX_104 TILEWRIGHT_PTX_102 ", %102, %103"
#define TILEWRIGHT_PTX_106 TILEWRIGHT_PTX_104 ", %104, %105"
#define TILEWRIGHT_PTX_108 TILEWRIGHT_PTX_106 ", %106, %107"
#define TILEWRIGHT_PTX_110 TILEWRIGHT_PTX_108 ", %108, %109"
#define TILEWRIGHT_PTX_112 TILEWRIGHT_PTX_110 ", %110, %111"
#define TILEWRIGHT_PTX_114 TILEWRIGHT_PTX_112 ", %112, %113"
#define TILEWRIGHT_PTX_116 TILEWRIGHT_PTX_114 ", %114, %115"
#define TILEWRIGHT_PTX_118 TILEWRIGHT_PTX_116 ", %116, %117"
#define TILEWRIGHT_PTX_120 TILEWRIGHT_PTX_118 ", %118, %119"
#define TILEWRIGHT_PTX_122 TILEWRIGHT_PTX_120 ", %120, %121"
#define TILEWRIGHT_PTX_124 TILEWRIGHT_PTX_122 ", %122, %123"
#define TILEWRIGHT_PTX_126 TILEWRIGHT_PTX_124 ", %124, %125"
#define TILEWRIGHT_PTX_128 TILEWRIGHT_PTX_126 ", %126, %127"

#define TILEWRIGHT_ACC_2(c) c(d[0]), c(d[1])
#define TILEWRIGHT_ACC_4(c) TILEWRIGHT_ACC_2(c), c(d[2]), c(d[3])
#define TILEWRIGHT_ACC_6(c) TILEWRIGHT_ACC_4(c), c(d[4]), c(d[5])
#define TILEWRIGHT_ACC_8(c) TILEWRIGHT_ACC_6(c), c(d[6]), c(d[7])
#define TILEWRIGHT_ACC_10(c) TILEWRIGHT_ACC_8(c), c(d[8]), c(d[9])
#define TILEWRIGHT_ACC_12(c) TILEWRIGHT_ACC_10(c), c(d[10]), c(d[11])
#define TILEWRIGHT_ACC_14(c) TILEWRIGHT_ACC_12(c), c(d[12]), c(d[13])
#define TILEWRIGHT_ACC_16(c) TILEWRIGHT_ACC_14(c), c(d[14]), c(d[15])
#define TILEWRIGHT_ACC_18(c) TILEWRIGHT_ACC_16(c), c(d[16]), c(d[17])
#define TILEWRIGHT_ACC_20(c) TILEWRIGHT_ACC_18(c), c(d[18]), c(d[19])
#define TILEWRIGHT_ACC_22(c) TILEWRIGHT_ACC_20(c), c(d[20]), c(d[21])
#define TILEWRIGHT_ACC_24(c) TILEWRIGHT_ACC_22(c), c(d[22]), c(d[23])
#define TILEWRIGHT_ACC_26(c) TILEWRIGHT_ACC_24(c), c(d[24]), c(d[25])
#define TILEWRIGHT_ACC_28(c) TILEWRIGHT_ACC_26(c), c(d[26]), c(d[27])
#define TILEWRIGHT_ACC_30(c) TILEWRIGHT_ACC_28(c), c(d[28]), c(d[29])
#define TILEWRIGHT_ACC_32(c) TILEWRIGHT_ACC_30(c), c(d[30]), c(d[31])
#define TILEWRIGHT_ACC_34(c) TILEWRIGHT_ACC_32(c), c(d[32]), c(d[33])
#define TILEWRIGHT_ACC_36(c) TILEWRIGHT_ACC_34(c), c(d[34]), c(d[35])
#define TILEWRIGHT_ACC_38(c) TILEWRIGHT_ACC_36(c), c(d[36]), c(d[37])
#define TILEWRIGHT_ACC_40(c) TILEWRIGHT_ACC_38(c), c(d[38]), c(d[39])
#define TILEWRIGHT_ACC_42(c) TILEWRIGHT_ACC_40(c), c(d[40]), c(d[41])
#define TILEWRIGHT_ACC_44(c) TILEWRIGHT_ACC_42(c), c(d[42]), c(d[43])
#define TILEWRIGHT_ACC_46(c) TILEWRIGHT_ACC_44(c), c(d[44]), c(d[45])
#define TILEWRIGHT_ACC_48(c) TILEWRIGHT_ACC_46(c), c(d[46]), c(d[47])
#define TILEWRIGHT_ACC_50(c) TILEWRIGHT_ACC_48(c), c(d[48]), c(d[49])
#define TILEWRIGHT_ACC_52(c) TILEWRIGHT_ACC_50(c), c(d[50]), c(d[51])
#define TILEWRIGHT_ACC_54(c) TILEWRIGHT_ACC_52(c), c(d[52]), c(d[53])
#define TILEWRIGHT_ACC_56(c) TILEWRIGHT_ACC_54(c), c(d[54]), c(d[55])
#define TILEWRIGHT_ACC_58(c) TILEWRIGHT_ACC_56(c), c(d[56]), c(d[57])
#define TILEWRIGHT_ACC_60(c) TILEWRIGHT_ACC_58(c), c(d[58]), c(d[59])
#define TILEWRIGHT_ACC_62(c) TILEWRIGHT_ACC_60(c), c(d[60]), c(d[61])
#define TILEWRIGHT_ACC_64(c) TILEWRIGHT_ACC_62(c), c(d[62]), c(d[63])
#define TILEWRIGHT_ACC_66(c) TILEWRIGHT_ACC_64(c), c(d[64]), c(d[65])
#define TILEWRIGHT_ACC_68(c) TILEWRIGHT_ACC_66(c), c(d[66]), c(d[67])
#define TILEWRIGHT_ACC_70(c) TILEWRIGHT_ACC_68(c), c(d[68]), c(d[69])
#define TILEWRIGHT_ACC_72(c) TILEWRIGHT_ACC_70(c), c(d[70]), c(d[71])
#define TILEWRIGHT_ACC_74(c) TILEWRIGHT_ACC_72(c), c(d[72]), c(d[73])
#define TILEWRIGHT_ACC_76(c) TILEWRIGHT_ACC_74(c), c(d[74]), c(d[75])
#define TILEWRIGHT_ACC_78(c) TILEWRIGHT_ACC_76(c), c(d[76]), c(d[77])
#define TILEWRIGHT_ACC_80(c) TILEWRIGHT_ACC_78(c), c(d[78]), c(d[79])
#define TILEWRIGHT_ACC_82(c) TILEWRIGHT_ACC_80(c), c(d[80]), c(d[81])
#define TILEWRIGHT_ACC_84(c) TILEWRIGHT_ACC_82(c), c(d[82]), c(d[83])
#define TILEWRIGHT_ACC_86(c) TILEWRIGHT_ACC_84(c), c(d[84]), c(d[85])
#define TILEWRIGHT_ACC_88(c) TILEWRIGHT_ACC_86(c), c(d[86]), c(d[87])
#define TILEWRIGHT_ACC_90(c) TILEWRIGHT_ACC_88(c), c(d[88]), c(d[89])
#define TILEWRIGHT_ACC_92(c) TILEWRIGHT_ACC_90(c), c(d[90]), c(d[91])
#define TILEWRIGHT_ACC_94(c) TILEWRIGHT_ACC_92(c), c(d[92]), c(d[93])
#define TILEWRIGHT_ACC_96(c) TILEWRIGHT_ACC_94(c), c(d[94]), c(d[95])
#define TILEWRIGHT_ACC_98(c) TILEWRIGHT_ACC_96(c), c(d[96]), c(d[97])
#define TILEWRIGHT_ACC_100(c) TILEWRIGHT_ACC_98(c), c(d[98]), c(d[99])
#define TILEWRIGHT_ACC_102(c) TILEWRIGHT_ACC_100(c), c(d[100]), c(d[101])
#define TILEWRIGHT_ACC_104(c) TILEWRIGHT_ACC_102(c), c(d[102]), c(d[103])
#define TILEWRIGHT_ACC_106(c) TILEWRIGHT_ACC_104(c), c(d[104]), c(d[105])
#define TILEWRIGHT_ACC_108(c) TILEWRIGHT_ACC_106(c), c(d[106]), c(d[107])
#define TILEWRIGHT_ACC_110(c) TILEWRIGHT_ACC_108(c), c(d[108]), c(d[109])
#define TILEWRIGHT_ACC_112(c) TILEWRIGHT_ACC_110(c), c(d[110]), c(d[111])
#define TILEWRIGHT_ACC_114(c) TILEWRIGHT_ACC_112(c), c(d[112]), c(d[113])
#define TILEWRIGHT_ACC_116(c) TILEWRIGHT_ACC_114(c), c(d[114]), c(d[115])
#define TILEWRIGHT_ACC_118(c) TILEWRIGHT_ACC_116(c), c(d[116]), c(d[117])
#define TILEWRIGHT_ACC_120(c) TILEWRIGHT_ACC_118(c), c(d[118]), c(d[119])
#define TILEWRIGHT_ACC_122(c) TILEWRIGHT_ACC_120(c), c(d[120]), c(d[121])
#define TILEWRIGHT_ACC_124(c) TILEWRIGHT_ACC_122(c), c(d[122]), c(d[123])
#define TILEWRIGHT_ACC_126(c) TILEWRIGHT_ACC_124(c), c(d[124]), c(d[125])
#define TILEWRIGHT_ACC_128(c) TILEWRIGHT_ACC_126(c), c(d[126]), c(d[127])

// 32-bit accumulators (n = N / 2) and packed f16 accumulators (n = N / 4) have these counts in common.
#define TILEWRIGHT_COUNTS_BOTH(X) \
  X(4, 4, 5, 6, 7, 8, 9, 10, 11) \
  X(8, 8, 9, 10, 11, 12, 13, 14, 15) \
  X(12, 12, 13, 14, 15, 16, 17, 18, 19) \
  X(16, 16, 17, 18, 19, 20, 21, 22, 23) \
  X(20, 20, 21, 22, 23, 24, 25, 26, 27) \
  X(24, 24, 25, 26, 27, 28, 29, 30, 31) \
  X(28, 28, 29, 30, 31, 32, 33, 34, 35) \
  X(32, 32, 33, 34, 35, 36, 37, 38, 39) \
  X(36, 36, 37, 38, 39, 40, 41, 42, 43) \
  X(40, 40, 41, 42, 43, 44, 45, 46, 47) \
  X(44, 44, 45, 46, 47, 48, 49, 50, 51) \
  X(48, 48, 49, 50, 51, 52, 53, 54, 55) \
  X(52, 52, 53, 54, 55, 56, 57, 58, 59) \
  X(56, 56, 57, 58, 59, 60, 61, 62, 63) \
  X(60, 60, 61, 62, 63, 64, 65, 66, 67) \
  X(64, 64, 65, 66, 67, 68, 69, 70, 71)
// Only 32-bit accumulators: N = 136 and more.
#define TILEWRIGHT_COUNTS_32_BIT(X) \
  X(68, 68, 69, 70, 71, 72, 73, 74, 75) \
  X(72, 72, 73, 74, 75, 76, 77, 78, 79) \
  X(76, 76, 77, 78, 79, 80, 81, 82, 83) \
  X(80, 80, 81, 82, 83, 84, 85, 86, 87) \
  X(84, 84, 85, 86, 87, 88, 89, 90, 91) \
  X(88, 88, 89, 90, 91, 92, 93, 94, 95) \
  X(92, 92, 93, 94, 95, 96, 97, 98, 99) \
  X(96, 96, 97, 98, 99, 100, 101, 102, 103) \
  X(100, 100, 101, 102, 103, 104, 105, 106, 107) \
  X(104, 104, 105, 106, 107, 108, 109, 110, 111) \
  X(108, 108, 109, 110, 111, 112, 113, 114, 115) \
  X(112, 112, 113, 114, 115, 116, 117, 118, 119) \
  X(116, 116, 117, 118, 119, 120, 121, 122, 123) \
  X(120, 120, 121, 122, 123, 124, 125, 126, 127) \
  X(124, 124, 125, 126, 127, 128, 129, 130, 131) \
  X(128, 128, 129, 130, 131, 132, 133, 134, 135)
// Only f16 accumulators: N an odd multiple of 8.
#define TILEWRIGHT_COUNTS_F16(X) \
  X(2, 2, 3, 4, 5, 6, 7, 8, 9) \
  X(6, 6, 7, 8, 9, 10, 11, 12, 13) \
  X(10, 10, 11, 12, 13, 14, 15, 16, 17) \
  X(14, 14, 15, 16, 17, 18, 19, 20, 21) \
  X(18, 18, 19, 20, 21, 22, 23, 24, 25) \
  X(22, 22, 23, 24, 25, 26, 27, 28, 29) \
  X(26, 26, 27, 28, 29, 30, 31, 32, 33) \
  X(30, 30, 31, 32, 33, 34, 35, 36, 37) \
  X(34, 34, 35, 36, 37, 38, 39, 40, 41) \
  X(38, 38, 39, 40, 41, 42, 43, 44, 45) \
  X(42, 42, 43, 44, 45, 46, 47, 48, 49) \
  X(46, 46, 47, 48, 49, 50, 51, 52, 53) \
  X(50, 50, 51, 52, 53, 54, 55, 56, 57) \
  X(54, 54, 55, 56, 57, 58, 59, 60, 61) \
  X(58, 58, 59, 60, 61, 62, 63, 64, 65) \
  X(62, 62, 63, 64, 65, 66, 67, 68, 69)
// clang-format on
