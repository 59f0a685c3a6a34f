/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* demangle: names of C++ and Rust, and names that are made to cost much. */
#include "symbol/elf_symbols.h"
#include "tests/unit/unit_test.h"

#define NEEDS_LIBRARY() do { if (!demangle_is_offered()) skip(); } while (0)

static void expect(const char *symbol, const char *name)
{
	char text[200];

	assert_string_equal(demangle(text, sizeof(text), symbol), name);
}

UNIT_TEST(test_demangle_knows_cpp_and_both_forms_of_rust)
{
	NEEDS_LIBRARY();
	expect("_ZN4tree5Maker4makeEi", "tree::Maker::make");
	expect("_ZN4tree4makeIiEEvT_", "tree::make<int>");
	expect("_ZN12_GLOBAL__N_14hideEv", "(anonymous namespace)::hide");
	expect("_ZNK4tree5MakerclEv", "tree::Maker::operator()");
	expect("_RNvNtC4tree4leaf4grow", "tree::leaf::grow");
	expect("_RINvC4tree4growhE", "tree::grow::<u8>");
	expect("_ZN4tree4leaf4grow17h0123456789abcdefE", "tree::leaf::grow");
	expect("_ZN47_$LT$tree..Leaf$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
	       "<tree::Leaf as core::fmt::Debug>::fmt");
}

UNIT_TEST(test_demangle_leaves_other_names)
{
	static const char *const names[] = { "", "_", "main", "_Z", "_R", "_start", "_Zyx", "Z3foo",
					     "_RNvC6mycrate3foo" /* it ends within a name */ };
	char text[40];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_ptr_equal(demangle(text, sizeof(text), names[i]), names[i]);
}

/* Each of these arguments is made of two of the one before: written out they are 2^35 and more. */
UNIT_TEST(test_demangle_stops_when_full)
{
	static const char cpp[] =
		"_Z1fI1pIiiES0_IS1_S1_ES0_IS2_S2_ES0_IS3_S3_ES0_IS4_S4_ES0_IS5_S5_ES0_IS6_S6_"
		"ES0_IS7_S7_ES0_IS8_S8_ES0_IS9_S9_ES0_ISA_SA_ES0_ISB_SB_ES0_ISC_SC_ES0_ISD_SD"
		"_ES0_ISE_SE_ES0_ISF_SF_ES0_ISG_SG_ES0_ISH_SH_ES0_ISI_SI_ES0_ISJ_SJ_ES0_ISK_S"
		"K_ES0_ISL_SL_ES0_ISM_SM_ES0_ISN_SN_ES0_ISO_SO_ES0_ISP_SP_ES0_ISQ_SQ_ES0_ISR_"
		"SR_ES0_ISS_SS_ES0_IST_ST_ES0_ISU_SU_ES0_ISV_SV_ES0_ISW_SW_ES0_ISX_SX_ES0_ISY"
		"_SY_ES0_ISZ_SZ_EEvv";
	static const char rust[] =
		"_RINvC1a1fTaaETB7_B7_ETBb_Bb_ETBj_Bj_ETBr_Br_ETBz_Bz_ETBH_BH_ETBP_BP_ETBX_BX"
		"_ETB15_B15_ETB1d_B1d_ETB1n_B1n_ETB1x_B1x_ETB1H_B1H_ETB1R_B1R_ETB21_B21_ETB2b"
		"_B2b_ETB2l_B2l_ETB2v_B2v_ETB2F_B2F_ETB2P_B2P_ETB2Z_B2Z_ETB39_B39_ETB3j_B3j_E"
		"TB3t_B3t_ETB3D_B3D_ETB3N_B3N_ETB3X_B3X_ETB47_B47_ETB4h_B4h_ETB4r_B4r_ETB4B_B"
		"4B_ETB4L_B4L_ETB4V_B4V_ETB55_B55_ETB5f_B5f_ETB5p_B5p_ETB5z_B5z_ETB5J_B5J_ETB"
		"5T_B5T_ETB63_B63_EE";
	char text[300];

	NEEDS_LIBRARY();
	assert_ptr_equal(demangle(text, sizeof(text), cpp), text);
	assert_int_equal(strlen(text), sizeof(text) - 1);
	assert_memory_equal(text, "f<p<int, int>, p<p<int, int>, p<int, int> >, ", 45);
	assert_ptr_equal(demangle(text, sizeof(text), rust), text);
	assert_int_equal(strlen(text), sizeof(text) - 1);
	assert_memory_equal(text, "a::f::<(i8, i8), ((i8, i8), (i8, i8)), ", 39);
}

/* Deep and long ones are refused or cut; the stack holds. */
UNIT_TEST(test_demangle_survives_depth)
{
	static const char *const begins[] = { "_Z1fI", "_ZN", "_Z", "_RNvC1a1f", "_RI", "_RNvC1a" };
	static const char *const repeats[] = { "P", "1a", "I", "N1a", "TS_", "Nv", "RT_", "Dp", "J",
					       "F", "X", "B_", "L", "sr", "C1a", "K" };
	char name[5000], text[300];

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		for (size_t k = 0; k < sizeof(repeats) / sizeof(repeats[0]); k++) {
			size_t n = strlen(repeats[k]);

			strcpy(name, begins[i]);
			for (size_t at = strlen(name); at + n < sizeof(name); at += n) {
				strcpy(name + at, repeats[k]);
				if (demangle(text, sizeof(text), name) == text)
					assert_true(strlen(text) < sizeof(text));
			}
		}
	}
}

UNIT_TESTS
